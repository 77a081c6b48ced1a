"""What becomes of a problem: its sources, its tasks and how each ended, the record of a bank, and the bank as exports take it. Pure values."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from qagen_dagster.records.base import Record
from qagen_dagster.records.ids import Name, digest, store_key
from qagen_dagster.records.problems.item import (
    AlternateResult,
    Breach,
    ClassificationResult,
    ConversionResult,
    Format,
    IdeaResult,
    Problem,
    ScanResult,
    TikzResult,
    VariantKind,
    VariantResult,
)
from qagen_dagster.records.run import CallSummary

ORIGINAL = "original"  # what a record calls the problem itself, beside its variants and conversions
AnyResult = (
    ClassificationResult
    | ScanResult
    | TikzResult
    | IdeaResult
    | AlternateResult
    | VariantResult
    | ConversionResult
)


class SourceReport(Record):
    """The problems that one file gave."""

    file: str
    problems: int
    note: str = ""


class ProblemSources(Record):
    """All problems of a set, in order, and the files they come from."""

    problems: tuple[Problem, ...]
    sources: tuple[SourceReport, ...] = ()


class Stage(StrEnum):
    """A station of a problem's way, in order."""

    CLASSIFY = "classify"
    SCAN = "scan"
    DIAGRAM = "diagram"
    IDEA = "idea"
    ALTERNATE = "alternate"
    VARIANT = "variant"
    CONVERT = "convert"


class Task(Record):
    """One thing to be made of a problem. `number` counts alternates, and variants of one kind, from 1."""

    stage: Stage
    number: int = Field(default=1, ge=1)
    variant: VariantKind | None = None
    target: Format | None = None

    @property
    def key(self) -> str:
        """`scan`, `alternate-2`, `variant-numerical-1`, `convert-integer`: also a folder name."""
        match self.stage:
            case Stage.ALTERNATE:
                return f"{self.stage.value}-{self.number}"
            case Stage.VARIANT:
                return f"{self.stage.value}-{self.variant.value if self.variant else ''}-{self.number}"
            case Stage.CONVERT:
                return f"{self.stage.value}-{self.target.value if self.target else ''}"
            case _:
                return self.stage.value

    @property
    def made(self) -> str | None:
        """The name of the made item in the record: the format, or the variant's kind (the second of a kind is `kind-2`)."""
        if self.stage is Stage.VARIANT and self.variant is not None:
            return self.variant.value if self.number == 1 else f"{self.variant.value}-{self.number}"
        return self.target.value if self.stage is Stage.CONVERT and self.target is not None else None


class TaskEnd(StrEnum):
    """How a task ended."""

    DONE = "done"
    GIVEN = "given"  # it was there already, or code could take it: nobody was asked
    REJECTED = "rejected"  # it broke a property twice; `breaches` say which
    DECLINED = "declined"  # who was asked says that it cannot be done
    FAILED = "failed"  # the model refused, or its answer could not be had
    SKIPPED = "skipped"  # there is nothing to do, such as a diagram of a problem without one

    @property
    def ok(self) -> bool:
        return self in (TaskEnd.DONE, TaskEnd.GIVEN, TaskEnd.SKIPPED)


class CompileOutcome(StrEnum):
    """What a TeX engine says."""

    COMPILED = "compiled"
    FAILED = "failed"
    NOT_COMPILED = "not_compiled"  # there is no engine: the structure alone was looked at


class Compiled(Record):
    """Whether LaTeX compiles. `message` is the engine's, or why nothing was compiled."""

    outcome: CompileOutcome = CompileOutcome.NOT_COMPILED
    message: str = ""


class TaskResult(Record):
    """Everything that one task gave. At most one of the results is set: the one of its stage.

    Attributes:
        breaches: of a rejected one, the last ones; of another, none.
        repaired: what broke at first and was put right when the model was told.
        compiled: None where there is no LaTeX.
        prompt: name of the prompt that was used; empty when nobody was asked.
        raw: what the model wrote, word for word.
        warnings: for people, one line each.
    """

    task: Task
    end: TaskEnd
    detail: str = ""
    breaches: tuple[Breach, ...] = ()
    repaired: tuple[Breach, ...] = ()
    warnings: tuple[str, ...] = ()
    classification: ClassificationResult | None = None
    scan: ScanResult | None = None
    tikz: TikzResult | None = None
    ideas: IdeaResult | None = None
    alternate: AlternateResult | None = None
    variant: VariantResult | None = None
    conversion: ConversionResult | None = None
    compiled: Compiled | None = None
    prompt: str = ""
    model: str = ""
    raw: str = ""
    calls: tuple[CallSummary, ...] = ()
    fingerprint: str = ""
    at: str = ""  # ISO 8601, UTC

    @property
    def result(self) -> AnyResult | None:
        return (
            self.classification
            or self.scan
            or self.tikz
            or self.ideas
            or self.alternate
            or self.variant
            or self.conversion
        )

    @staticmethod
    def key(problem_set: str, problem_id: str, task: str, fingerprint: str) -> str:
        return store_key("problems", problem_set, "tasks", problem_id, task, fingerprint, suffix=".json")


class ProblemEnd(StrEnum):
    """What became of a problem as a whole; only the first is in the bank."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"  # its classification, its scan or its diagram
    FAILED = "failed"  # one of these could not be had
    UNFINISHED = "unfinished"  # a later run goes on with it


class PipelineResult(Record):
    """What the whole pipeline made of one problem, as the design names it."""

    source_path: str
    classification: ClassificationResult
    latex: str
    tikz_code: str | None = None
    ideas: IdeaResult | None = None
    alternate_solutions: list[str] = Field(default_factory=list)
    variants: dict[str, str] = Field(default_factory=dict)  # kind to LaTeX; the second of a kind is `kind-2`


class ProblemRecord(Record):
    """One problem of a bank, with all that was made of it.

    Attributes:
        latex: the item, from `\\item` to `\\end{solution}`, its diagram not in it: see `DIAGRAM_MARK`.
        conversions: format to LaTeX.
        tasks: how every task ended, in order, raw words left out.
        breaches: why the problem, or something made of it, was rejected.
        models: role to the model's name.
        withdrawn: items that reviewers rejected, by what they are called (`original`, a variant, a format): who, and why.
    """

    id: Name
    end: ProblemEnd
    problem: Problem
    detail: str = ""
    classification: ClassificationResult | None = None
    latex: str = ""
    raw_diagram_description: str | None = None
    tikz: TikzResult | None = None
    ideas: IdeaResult | None = None
    alternates: tuple[AlternateResult, ...] = ()
    variants: dict[str, str] = Field(default_factory=dict)
    conversions: dict[str, str] = Field(default_factory=dict)
    compiled: Compiled | None = None
    tasks: tuple[TaskResult, ...] = ()
    breaches: tuple[Breach, ...] = ()
    models: dict[str, str] = Field(default_factory=dict)
    withdrawn: dict[str, str] = Field(default_factory=dict)
    timestamp: str = ""  # of the last task, ISO 8601, UTC

    @property
    def flagged(self) -> bool:
        """Whether a person should look at it: the classification is unsure, or something is missing."""
        unsure = self.classification is not None and self.classification.flagged
        return unsure or any(one.warnings for one in self.tasks)


class ProblemBank(Record):
    """All problems of one set, in its order, rejected ones too.

    `profile` and `seed` are those that the launch set in place of problems.yaml. Runs that bring the bank up to date keep to them.
    """

    name: Name
    title: str
    problems: tuple[ProblemRecord, ...]
    profile: str | None = None
    seed: int | None = None

    @property
    def accepted(self) -> tuple[ProblemRecord, ...]:
        return tuple(one for one in self.finished if ORIGINAL not in one.withdrawn)

    @property
    def finished(self) -> tuple[ProblemRecord, ...]:
        """The accepted problems, also those that reviewers rejected."""
        return tuple(one for one in self.problems if one.end is ProblemEnd.ACCEPTED)

    @staticmethod
    def file_key(problem_set: str, path: str) -> str:
        """A file of the bank, or one of its exports."""
        return store_key("problems", problem_set, *path.split("/"))

    @staticmethod
    def history_key(problem_set: str, run_id: str, path: str) -> str:
        """A file of the bank as a run made it."""
        return store_key("problems", problem_set, "history", run_id, *path.split("/"))

    @staticmethod
    def spending_folder(spending_id: str, problem_set: str) -> str:
        return store_key("spending", spending_id, "problems", problem_set)


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
