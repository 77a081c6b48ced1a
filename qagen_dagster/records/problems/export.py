"""A bank of problems as exports take it: every item taken apart, nothing of how it came to be but what is worth telling. Pure values."""

from __future__ import annotations

from qagen_dagster.records.base import Record
from qagen_dagster.records.ids import Name, digest
from qagen_dagster.records.problems.item import ClassificationResult, IdeaResult
from qagen_dagster.records.problems.result import ORIGINAL


class BankOption(Record):
    """One option of an item."""

    text: str
    right: bool


class BankItem(Record):
    r"""One item of a bank.

    Attributes:
        id: of the problem, with what was made of it behind two dashes.
        problem: the id of the problem that it comes from.
        made: `original`, the variant's kind (the second of a kind is `kind-2`), or the format it was converted to.
        latex: from `\item` to `\end{solution}`, with its diagram.
        statement, options, solution: its parts, as LaTeX.
        answer: what the solution ends at; None where code finds none.
        alternates: other solutions, each a solution environment.
    """

    id: Name
    problem: Name
    made: str = ORIGINAL
    latex: str
    statement: str
    options: tuple[BankOption, ...] = ()
    solution: str = ""
    answer: str | None = None
    alternates: tuple[str, ...] = ()
    source_path: str = ""
    classification: ClassificationResult | None = None
    ideas: IdeaResult | None = None

    @property
    def content_id(self) -> str:
        """`p-` and 16 hexadecimal digits of a hash of the LaTeX (spacing ignored): the key of decisions of reviewers."""
        return "p-" + digest(" ".join(self.latex.split()))[:16]


class BankExport(Record):
    """All items of a bank in order.

    Attributes:
        preambles: what stood in front of their sources, each once.
        libraries: of TikZ, and packages that draw.
        packages: that the items use.
        signs: declarations of the signs beyond ASCII that an engine of 8 bits does not know.
    """

    name: Name
    title: str
    items: tuple[BankItem, ...] = ()
    preambles: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    signs: str = ""
