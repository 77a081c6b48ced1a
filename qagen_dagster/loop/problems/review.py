"""Edits of the LaTeX of problems by reviewers, which are proven again before they are stored."""

from collections.abc import Iterator

from qagen_dagster.configuration.problems import find_problem_set
from qagen_dagster.latex.engine import compile_item, find_engine
from qagen_dagster.loop.problems.bank import item_breaches, whole_item
from qagen_dagster.loop.problems.code_checks import scan_breaches
from qagen_dagster.loop.problems.faithfulness import stale_givens
from qagen_dagster.loop.problems.key_checks import asked, compared, unsolvable
from qagen_dagster.loop.review_decisions import refuse, solver_answer
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.publishing.allowed_tex import own_of, refused
from qagen_dagster.publishing.problems.tex_project import allowed_definitions
from qagen_dagster.records.problems import result
from qagen_dagster.records.problems.submissions import mended_latex


def edited_latex(
    space: Workspace,
    bank: result.ProblemBank,
    record: result.ProblemRecord,
    item: result.BankItem,
    latex: str,
) -> str:
    """The LaTeX of an edited item.

    Raises ConfigError if the edit changes nothing, breaks a property that the item has, uses TeX that is not allowed, does not compile
    (where there is an engine), or if the solver of the profile reaches another answer. A profile without a solver is asked nothing.
    """
    text = str(mended_latex(latex))
    if text.split() == item.latex.split():
        refuse(["it changes nothing"])
    known = set(_faults(record, item, item.latex))
    refuse([fault for fault in _faults(record, item, text) if fault not in known])
    drawn = record.tikz.libraries if record.tikz is not None else ()
    compiled = compile_item(find_engine(), text, record.problem.preamble, drawn).compiled
    if compiled.outcome is result.CompileOutcome.FAILED:
        refuse([f"it does not compile: {compiled.message}"])
    if not unsolvable(text):
        profile = bank.profile or find_problem_set(space.settings.corpora, bank.name).config.profile
        blind = solver_answer(space, profile or space.settings.profile, record.id, *asked(text))
        refuse([] if blind is None else [one for one in compared(text, blind)[1:] if one])
    return text


def _faults(record: result.ProblemRecord, item: result.BankItem, text: str) -> Iterator[str]:
    if item.made == result.ORIGINAL:
        known = record.classification
        yield from map(str, scan_breaches(text, known.question_type if known is not None else None))
    else:
        made = item_breaches(whole_item(record), item.model_copy(update={"latex": text}))
        yield from map(str, made)
    yield from stale_givens(item.latex, text)
    barred = refused(text, own_of(allowed_definitions([record.problem.preamble])))
    if barred:
        yield f"{barred} is not allowed LaTeX"
