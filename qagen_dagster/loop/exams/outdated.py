"""Tells which parts of an exam are out of date, and why. A part that was never made is not out of date."""

from qagen_dagster.loop.configuration import Configuration, model_names, model_settings, what_changed
from qagen_dagster.loop.exams.bank import is_part_current
from qagen_dagster.loop.exams.plan import ExamOptions, PartPlan, part_set, plan_part
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.exams.bank import PartSet
from qagen_dagster.records.exams.submissions import ExamPart


def wanted_part(space: Workspace, part: ExamPart, profile: str | None = None) -> Configuration:
    """The configuration with which a run would make the part. Raises ConfigError."""
    plan = _planned(space, part, profile)
    settings = {"thresholds": plan.limits.thresholds.model_dump_json()} | model_settings(dict(plan.specs))
    parts = {"profile": plan.profile_name, **model_names(plan.specs), "seed": str(plan.seed)}
    return Configuration(plan.configuration, parts, settings)


def made_part(space: Workspace, part: ExamPart, wanted: Configuration) -> Configuration | None:
    """The configuration of the last run that changed the part; None if the part was never made."""
    made = part_set(space, part)
    if made is None:
        return None
    return _made(made) if why_part_outdated(space, part) else wanted


def why_part_outdated(space: Workspace, part: ExamPart) -> tuple[str, ...]:
    """Why a part that was made once is out of date, in one line each. Raises ConfigError.

    Fewer wanted items are no reason. A part that models of the command line made is never out of date: its profile does not tell what
    a run of it would cost.
    """
    made = part_set(space, part)
    if made is None or made.given.models:
        return ()
    plan = _planned(space, part, None)
    if is_part_current(space, plan):
        return ()
    found = what_changed(_made(made), wanted_part(space, part))
    slots = (f"items: {made.slots} → {plan.slots}",) if made.slots != plan.slots else ()
    return (*found, *slots) or (f"{made.unfinished} items are unfinished",)


def _planned(space: Workspace, part: ExamPart, profile: str | None) -> PartPlan:
    """The part as a run that brings it up to date makes it."""
    return plan_part(space, part, ExamOptions(profile=profile, refresh=True))


def _made(made: PartSet) -> Configuration:
    return Configuration(made.fingerprint, {"profile": made.profile, **made.models, "seed": str(made.seed)})
