"""Finds the problems on the pages of a picture or a PDF, and cuts each out as a picture of its own.

The model of the classifier names the boxes. Its reply is in the ledger, so a resumed command pays nothing twice.
"""

from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path

from qagen_dagster.agents.problems import FIND, Asking, ask, find_prompt
from qagen_dagster.configuration.profiles import Role, problem_specs
from qagen_dagster.errors import ConfigError, DocumentError
from qagen_dagster.formats.base import RenderOptions
from qagen_dagster.formats.image import cut, enlarge
from qagen_dagster.loop.problems import sources
from qagen_dagster.loop.problems.plan import ProblemOptions, keep_picture, see_picture
from qagen_dagster.loop.problems.run_problem import BLIND, result_of
from qagen_dagster.loop.shared_budget import BudgetMeter, RunSpending, effective_budget, metered
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.base import Model
from qagen_dagster.records.ids import fingerprint
from qagen_dagster.records.problems.item import Breach, PageResult, PlaceOnPage, Problem
from qagen_dagster.records.problems.result import ProblemBank, Stage, Task, TaskEnd, TaskResult
from qagen_dagster.records.run import CallSummary

_SAME = 0.5  # share of a box that another box must not cover
_MARGIN = 0.005  # share of the page around a box


def find_problems(
    space: Workspace, path: Path, wanted: sources.Range, options: ProblemOptions, run_id: str, name: str
) -> tuple[tuple[Problem, ...], list[CallSummary]]:
    """The problems `wanted` (both ends included) of a picture or a PDF, counted through all pages from 1; and the calls that found them.

    Pages after the last wanted problem are not looked at. Raises ConfigError for a range that the file does not have, which says how many
    problems there are, and for a model that takes no pictures; DocumentError for a page on which no problem is found; ModelError.
    """
    first, last = wanted
    if not 1 <= first <= last:
        raise ConfigError(f"a range is START END with 1 <= START <= END, not {first} {last}")
    named = sources.Named(path, str(path))
    model = _model(space, options, run_id, name)
    pages = sources.page_count(space, named) if path.suffix.lower() == sources.PDF else 1
    found: list[tuple[int, PlaceOnPage]] = []
    calls: list[CallSummary] = []
    for page in range(1, pages + 1):
        if len(found) < last:
            places, asked = _look(space, named, page, model, name)
            found += [(page, place) for place in places]
            calls += asked
    if len(found) < last:
        raise sources.beyond(path, len(found), wanted)
    numbered = enumerate(found[first - 1 : last], first)
    return tuple(_cut_out(space, named, number, page, place) for number, (page, place) in numbered), calls


def _model(space: Workspace, options: ProblemOptions, run_id: str, name: str) -> Model:
    """The classifier's model, within the budget of the run. Raises ConfigError if it takes no pictures."""
    profile_name = options.profile or space.settings.profile
    profile = space.profile(profile_name)
    spec = problem_specs(profile, profile_name)[Role.CLASSIFIER]
    if not spec.images:
        raise ConfigError(BLIND.format(name=spec.name, role=Role.CLASSIFIER.value))
    spending = RunSpending(space.store, ProblemBank.spending_folder(run_id, name))
    meter = BudgetMeter(effective_budget(profile, options.limits), spending, subject="problem")
    return metered(space.model(spec), meter)


def _look(
    space: Workspace, named: sources.Named, page: int, model: Model, name: str
) -> tuple[tuple[PlaceOnPage, ...], tuple[CallSummary, ...]]:
    """The places of the problems on a page. The result is stored with its calls, so that the catalog knows what it cost."""
    image = sources.drawn(space, named, page)
    picture = keep_picture(space.store, image.data, image.media_type)
    account = f"{sources.prefix_of(named.path)}-p{page}"
    asking = Asking(model, account, _faults, pictures=(see_picture(space.store, picture),))
    said = ask(FIND, find_prompt(), asking, {})
    result = result_of(
        Task(stage=Stage.FIND),
        said,
        model,
        fingerprint=fingerprint([model.spec.name, find_prompt().hash, picture.sha256]),
        at=datetime.now(UTC).isoformat(),
    )
    space.store.write(TaskResult.key(name, account, result.task.key, result.fingerprint), result)
    if said.end is not TaskEnd.DONE or said.result is None:
        raise DocumentError(
            "unsupported", f"{named.shown}: no problem was found on page {page}: {said.detail}"
        )
    return said.result.problems, said.calls


def _faults(result: PageResult) -> tuple[Breach, ...]:
    """Boxes without an area, and boxes around the same part of the page."""
    boxes = list(enumerate(result.problems, 1))
    empty = [f"box {number} has no area" for number, box in boxes if box.is_empty]
    twice = [
        f"boxes {one} and {other} hold the same part of the page"
        for (one, first), (other, second) in combinations(boxes, 2)
        if max(first.covers(second), second.covers(first)) > _SAME
    ]
    return tuple(Breach(property=FIND.shape, detail=detail) for detail in (*empty, *twice))


def _cut_out(space: Workspace, named: sources.Named, number: int, page: int, place: PlaceOnPage) -> Problem:
    """The problem in a box, drawn finer than the whole page, with a narrow margin."""
    part = (
        max(0.0, place.left - _MARGIN),
        max(0.0, place.top - _MARGIN),
        min(1.0, place.right + _MARGIN),
        min(1.0, place.bottom + _MARGIN),
    )
    how = RenderOptions()
    image = cut(sources.drawn(space, named, page, enlarge(how, part)), part, how)
    return sources.of_picture(
        space, named, page, f"{sources.prefix_of(named.path)}-{number:02d}", number, image
    )
