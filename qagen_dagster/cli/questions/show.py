"""The commands `qagen questions`, which lists questions, and `qagen show`, which shows one question with its evidence and lineage."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import click
from rich.markup import escape
from rich.table import Table

from qagen_dagster.catalog import queries
from qagen_dagster.cli.catalog import current_catalog
from qagen_dagster.cli.options import OneOf, Selection, combination_options, json_option
from qagen_dagster.cli.output import Terminal, exact_money, print_json
from qagen_dagster.errors import StoreError
from qagen_dagster.loop.questions.plan import results_of
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.base import Record
from qagen_dagster.records.ids import Combination, normalise, question_id
from qagen_dagster.records.questions.results import (
    CandidateSet,
    Evidence,
    RejectedQA,
    RejectionReason,
    ValidatedSet,
)
from qagen_dagster.settings import Settings


class Outcome(StrEnum):
    ACCEPTED = "accepted"
    REJECTED = "rejected"


class ListedQuestion(Record):
    """A proposed question and its outcome. `reason` and `detail` state why it was rejected, if it was."""

    id: str
    combination: str
    document_id: str
    outcome: Outcome
    question: str
    answer: str
    question_type: str | None = None  # of accepted questions
    reason: RejectionReason | None = None
    detail: str = ""
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True)
class Wanted:
    """The filter of the questions to list. None, or an empty text, selects all."""

    outcome: Outcome | None = None
    document: str | None = None
    reason: RejectionReason | None = None
    question_type: str | None = None
    text: str = ""  # the beginning of an id, or a part of the question or its answer; case does not matter

    def includes(self, one: ListedQuestion) -> bool:
        words = normalise(self.text)
        return (
            self.outcome in (None, one.outcome)
            and self.document in (None, one.document_id)
            and self.reason in (None, one.reason)
            and self.question_type in (None, one.question_type)
            and (one.id.startswith(words) or words in normalise(f"{one.question} {one.answer}"))
        )


def listed(workspace: Workspace, combination: Combination, wanted: Wanted) -> Iterator[ListedQuestion]:
    """The questions of the combination's current set, accepted questions first. Empty if there is no set."""
    validated = workspace.store.find_valid(ValidatedSet.key(combination), ValidatedSet)
    candidates = workspace.store.find_valid(CandidateSet.key(combination), CandidateSet)
    results = results_of(workspace, candidates) if candidates else ()
    accepted = validated.questions if validated else ()
    removed = validated.removed if validated else ()
    named = {"combination": combination.key, "outcome": Outcome.ACCEPTED}
    every = [ListedQuestion(**pair.shared(ListedQuestion, **named)) for pair in accepted]
    every += [_rejected(combination, one) for result in results for one in result.rejected]
    every += [_rejected(combination, one) for one in removed]
    return (one for one in every if wanted.includes(one))


def rejected_question(workspace: Workspace, beginning: str) -> ListedQuestion | None:
    """The rejected question of the current sets whose id begins with `beginning`; None if there is none. An id that equals `beginning`
    takes precedence. Raises StoreError if several ids begin with `beginning` and none equals it."""
    keys = (key for key in workspace.store.list("candidates") if beginning and key.endswith("/set.json"))
    combinations = (Combination.from_key("/".join(key.split("/")[1:4])) for key in keys)
    wanted = Wanted(Outcome.REJECTED, text=beginning)
    found = {
        one.id: one
        for combination in combinations
        for one in listed(workspace, combination, wanted)
        if one.id.startswith(beginning)
    }
    if len(found) > 1 and beginning not in found:
        raise StoreError(f"more than one question begins with {beginning!r}: give more of its id")
    return found.get(beginning) or next(iter(found.values()), None)


def _rejected(combination: Combination, one: RejectedQA) -> ListedQuestion:
    return ListedQuestion(
        **one.shared(ListedQuestion, question_type=None),
        id=question_id(combination, one.document_id, one.question, one.answer),
        combination=combination.key,
        outcome=Outcome.REJECTED,
        reason=one.rejection_reason,
        detail=one.rejection_detail,
    )


@click.command()
@click.argument("text", default="")
@combination_options
@click.option("--outcome", type=OneOf(Outcome), help="Only accepted, or only rejected questions.")
@click.option("--document", help="Only questions from the document with this id.")
@click.option("--reason", type=OneOf(RejectionReason), help="Only questions rejected for this reason.")
@click.option("--type", "question_type", help="Only accepted questions of this type.")
@click.option(
    "--limit",
    type=click.IntRange(1),
    default=50,
    show_default=True,
    help="Questions to list: different ones, of as many documents as possible.",
)
@json_option
@click.pass_obj
def questions(
    settings: Settings,
    text: str,
    chosen: Selection,
    outcome: Outcome | None,
    document: str | None,
    reason: RejectionReason | None,
    question_type: str | None,
    limit: int,
    as_json: bool,
) -> None:
    """List questions, accepted and rejected.

    TEXT is a part of a question or of its answer, or the beginning of an id. Without it, all questions that match the
    options are listed. `qagen show ID` shows one question, and the lineage of an accepted one.
    """
    space = Workspace(settings)
    wanted = Wanted(outcome, document, reason, question_type, text)
    found = [
        row
        for combination in space.corpora.combinations(*chosen)
        for row in listed(space, combination, wanted)
    ]
    shown = spread(found, limit)
    if as_json:
        print_json([row.model_dump(mode="json") for row in shown])
        return
    console = Terminal()
    for question in shown:
        _print(console, question)
    more = len(found) - len(shown)
    console.print(f"{len(found)} questions" + (f", {more} not listed (--limit)" if more else ""))


def spread(found: Sequence[ListedQuestion], limit: int) -> list[ListedQuestion]:
    """At most `limit` questions in their order: as many different questions as possible, from as many documents as possible."""
    turns, words = Counter[str](), set[str]()
    ranked: list[tuple[bool, int, int]] = []
    for place, row in enumerate(found):
        asked = normalise(row.question)
        ranked.append((asked in words, turns[row.document_id], place))
        turns[row.document_id] += asked not in words
        words.add(asked)
    return [found[place] for place in sorted(place for *_, place in sorted(ranked)[:limit])]


def _print(console: Terminal, row: ListedQuestion) -> None:
    place = next((f":{quote.start_line}" for quote in row.evidence if quote.start_line), "")
    why = "accepted" if row.reason is None else f"rejected: {row.reason.value}"
    console.print(f"[bold]{row.id}[/bold]  {why}", highlight=False)
    console.print(f"[dim]{row.combination}  {escape(row.document_id)}{place}[/dim]", highlight=False)
    console.print(f"  {escape(row.question)}\n  {escape(row.answer)}", highlight=False)
    if row.detail:
        console.print(f"  [dim]{escape(row.detail)}[/dim]", highlight=False)
    console.print()


@click.command()
@click.argument("question_id")
@json_option
@click.pass_obj
def show(settings: Settings, question_id: str, as_json: bool) -> None:
    """Show one question with its evidence and lineage.

    QUESTION_ID may be shortened to its first characters. The lineage is: models, prompts, run and cost. A rejected question
    is shown with its reason, and a question of an older version of a set with that version.
    """
    space, console = Workspace(settings), Terminal()
    with current_catalog(space.store) as file:
        try:
            found = queries.question(file, question_id)
        except queries.UnknownQuestionError:
            rejected = rejected_question(space, question_id)
            former = queries.former_question(file, question_id) if rejected is None else None
            if former is not None:
                _print_former(console, former, as_json=as_json)
                return
            if rejected is None:
                raise
            if as_json:
                print_json({"question_id": rejected.id, **rejected.model_dump(mode="json")})
            else:
                _print(console, rejected)
            return
    if as_json:
        print_json({**found, "outcome": Outcome.ACCEPTED.value})
        return
    console.print(f"[bold]{escape(found.question)}[/bold]\n{escape(found.answer)}\n")
    for place in found.evidence:
        where = "no text lines"
        if place.start_line is not None:
            several = place.end_line not in (None, place.start_line)
            where = f"lines {place.start_line}-{place.end_line}" if several else f"line {place.start_line}"
        page = f", page {place.page}" if place.page else ""
        visual = f", {escape(place.visual)}" if place.visual else ""
        console.print(f'  "{escape(place.quote)}" ({where}{page}{visual})', highlight=False)
    console.print()
    console.print(_facts(found))


def _print_former(console: Terminal, former: queries.Row, *, as_json: bool) -> None:
    if as_json:
        print_json({**former, "outcome": "removed"})
        return
    console.print(f"[bold]{escape(former.question)}[/bold]\n{escape(former.answer)}\n")
    where = f"version {former.version} of {former.combination} (run {former.run_id or '-'})"
    console.print(f"removed: it is only in {where}, from {escape(former.source_document)}", highlight=False)


def _facts(found: queries.Row) -> Table:
    table = Table.grid(padding=(0, 2))
    usd = exact_money(found.usd)
    hashes: dict[str, str] = found.prompt_hashes or {}
    prompts = ", ".join(f"{name} {hashed}" for name, hashed in hashes.items())
    for name, value in (
        ("id", found.question_id),
        ("combination", found.combination),
        ("document", f"{found.source_document} ({found.document_version})"),
        ("document unchanged", {True: "yes", False: "no", None: None}[found.document_unchanged]),
        ("generator", found.generator_model),
        ("validator", found.validator_model),
        ("blind answer", found.blind_answer),
        ("verdict", found.verdict_explanation),
        ("attempt", found.attempt),
        ("prompts", prompts or None),
        ("run", found.run_id),
        ("profile", found.profile),
        ("fingerprint", found.fingerprint),
        ("model calls", found.calls),
        ("tokens", queries.told_tokens(found)),
        ("cost", usd),
    ):
        table.add_row(name, escape(str("-" if value is None else value)))
    return table
