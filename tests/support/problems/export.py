"""A bank of problems as exports take it, made of TeX as it stands: nobody is asked."""

from __future__ import annotations

from collections.abc import Sequence

from qagen_dagster.loop.problems.bank import export_of
from qagen_dagster.records.problems.result import BankExport, ProblemBank, ProblemEnd, ProblemRecord
from qagen_dagster.records.problems.submissions import AlternateResult, ClassificationResult, TikzResult
from tests.support.problems.play import classified, typed


def record(latex: str, *, name: str = "p-01", preamble: str = "", **made: object) -> ProblemRecord:
    """An accepted problem; `made` are fields of the record, `alternates` and `libraries` in short."""
    others = [
        AlternateResult(solution=one, method="m", final_answer="x")
        for one in _words(made.pop("alternates", ()))
    ]
    libraries = tuple(_words(made.pop("libraries", ())))
    tikz = TikzResult(tikz_code=r"\begin{tikzpicture}\draw (0,0);\end{tikzpicture}", libraries=libraries)
    fields = {
        "id": name,
        "end": ProblemEnd.ACCEPTED,
        "problem": typed(latex, id=name, preamble=preamble),
        "latex": latex,
        "classification": ClassificationResult.model_validate(classified()),
        "alternates": others,
        "tikz": tikz if libraries else None,
    }
    return ProblemRecord.model_validate(fields | made)


def exported(*records: ProblemRecord, title: str = "Motion") -> BankExport:
    return export_of(ProblemBank(name="motion", title=title, problems=records))


def _words(value: object) -> Sequence[str]:
    assert isinstance(value, (tuple, list))
    return [str(one) for one in value]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
