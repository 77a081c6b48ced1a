"""Records of the work on problems: their sources, the results of their tasks, the records of a bank, and the bank for exports."""

from enum import StrEnum

from pydantic import Field

from qagen_dagster.records.base import Record
from qagen_dagster.records.ids import Name, digest, store_key
from qagen_dagster.records.problems import submissions as item_records
from qagen_dagster.records.run import CallSummary

NOT_SOLVED = "not solved"
ORIGINAL = "original"  # the name of the problem itself among its variants and conversions
AnyResult = (
    item_records.ClassificationResult
    | item_records.ScanResult
    | item_records.TikzResult
    | item_records.IdeaResult
    | item_records.AlternateResult
    | item_records.VariantResult
    | item_records.ConversionResult
)


class SourceReport(Record):
    file: str
    problems: int
    note: str = ""


class ProblemSources(Record):
    """All problems of a set, in order, and the files that they come from."""

    problems: tuple[item_records.Problem, ...]
    sources: tuple[SourceReport, ...] = ()


class Stage(StrEnum):
    """The stages of the pipeline, in order. FIND comes before the pipeline: it finds the problems on a page that has several."""

    CLASSIFY = "classify"
    SCAN = "scan"
    DIAGRAM = "diagram"
    IDEA = "idea"
    ALTERNATE = "alternate"
    VARIANT = "variant"
    CONVERT = "convert"
    FIND = "find"


class Task(Record):
    """One task of a problem. `number` counts the alternates, and the variants of one kind, from 1. It is 1 for other tasks."""

    stage: Stage
    number: int = Field(default=1, ge=1)
    variant: item_records.VariantKind | None = None
    target: item_records.Format | None = None

    @property
    def key(self) -> str:
        """The name of the task and of its folder, such as `scan`, `alternate-2`, `variant-numerical-1` or `convert-integer`."""
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
        """The name of the item that the task makes: the format, or the kind of the variant (`kind-2` for the second variant).

        None if the task makes no item.
        """
        if self.stage is Stage.VARIANT and self.variant is not None:
            return self.variant.value if self.number == 1 else f"{self.variant.value}-{self.number}"
        return self.target.value if self.stage is Stage.CONVERT and self.target is not None else None


class TaskEnd(StrEnum):
    """The end of a task."""

    DONE = "done"
    GIVEN = "given"  # no model was asked, because the input already has the result
    REJECTED = "rejected"  # the results of both attempts broke a property, see `breaches`
    DECLINED = "declined"  # the model reported that the task cannot be done
    FAILED = "failed"  # the model refused to answer; if it cannot be reached, the task has no result and is tried again
    SKIPPED = "skipped"  # there is nothing to do, for example because the problem has no diagram

    @property
    def ok(self) -> bool:
        return self in (TaskEnd.DONE, TaskEnd.GIVEN, TaskEnd.SKIPPED)


class CompileOutcome(StrEnum):
    COMPILED = "compiled"
    FAILED = "failed"
    NOT_COMPILED = "not_compiled"  # there is no engine, so only the structure was checked


class Compiled(Record):
    """Whether LaTeX compiles. `message` is the engine's message, or the reason why nothing was compiled."""

    outcome: CompileOutcome = CompileOutcome.NOT_COMPILED
    message: str = ""


FIELDS = {  # the field of a task result that holds the submission of the role
    Stage.CLASSIFY: "classification", Stage.SCAN: "scan", Stage.DIAGRAM: "tikz", Stage.IDEA: "ideas", Stage.ALTERNATE: "alternate",
    Stage.VARIANT: "variant", Stage.CONVERT: "conversion",
}  # fmt: skip


class TaskResult(Record):
    """The result of one task. Only one of the fields from `classification` to `conversion` can be set: the field of its stage.

    Attributes:
        breaches: if the result was rejected, the properties that the last attempt broke.
        repaired: the properties that the first attempt broke and the second attempt fulfilled.
        compiled: None if the result has no LaTeX.
        prompt: the name of the prompt; empty if no model was asked.
        raw: the text of the model, word for word.
        warnings: warnings for people, one line each.
        solved: the comparison of a solver's answer with the key, in words; it begins with NOT_SOLVED if there is no answer.
        read_twice: the result of a second reading of the picture by the solver's model; empty without a second reading.
    """

    task: Task
    end: TaskEnd
    detail: str = ""
    breaches: tuple[item_records.Breach, ...] = ()
    repaired: tuple[item_records.Breach, ...] = ()
    warnings: tuple[str, ...] = ()
    solved: str = NOT_SOLVED
    read_twice: str = ""
    classification: item_records.ClassificationResult | None = None
    scan: item_records.ScanResult | None = None
    tikz: item_records.TikzResult | None = None
    ideas: item_records.IdeaResult | None = None
    alternate: item_records.AlternateResult | None = None
    variant: item_records.VariantResult | None = None
    conversion: item_records.ConversionResult | None = None
    compiled: Compiled | None = None
    prompt: str = ""
    model: str = ""
    raw: str = ""
    calls: tuple[CallSummary, ...] = ()
    fingerprint: str = ""
    at: str = ""  # ISO 8601, UTC

    @property
    def result(self) -> AnyResult | None:
        return getattr(self, FIELDS[self.task.stage])

    @staticmethod
    def key(problem_set: str, problem_id: str, task: str, fingerprint: str) -> str:
        return store_key("problems", problem_set, "tasks", problem_id, task, fingerprint, suffix=".json")


class ProblemEnd(StrEnum):
    """The end of the work on a problem. Exports have only accepted problems."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"  # its classification, scan or diagram was rejected
    FAILED = "failed"  # its classification, scan or diagram could not be made
    UNFINISHED = "unfinished"  # a later run continues the work


class PipelineResult(Record):
    """The result of the whole pipeline for one problem, with the fields of the design document."""

    source_path: str
    classification: item_records.ClassificationResult
    latex: str
    tikz_code: str | None = None
    ideas: item_records.IdeaResult | None = None
    alternate_solutions: list[str] = Field(default_factory=list)
    variants: dict[str, str] = Field(default_factory=dict)  # kind (`kind-2` for the second variant) to LaTeX


class ProblemRecord(Record):
    """One problem of a bank, with everything that was made from it.

    Attributes:
        latex: the item from `\\item` to `\\end{solution}`, with `DIAGRAM_MARK` in place of its diagram.
        conversions: LaTeX by format.
        tasks: the results of all tasks in order, without `raw` and `calls`.
        breaches: the reasons why the problem, or an item made from it, was rejected.
        models: the name of the model by role.
        withdrawn: the reviewer and the reason for each item that reviewers rejected, by name (`original`, a variant, a format).
        edited: the LaTeX of the items that reviewers edited, by name. Each edit was checked again. Not stored if empty.
    """

    id: Name
    end: ProblemEnd
    problem: item_records.Problem
    detail: str = ""
    classification: item_records.ClassificationResult | None = None
    latex: str = ""
    raw_diagram_description: str | None = None
    tikz: item_records.TikzResult | None = None
    ideas: item_records.IdeaResult | None = None
    alternates: tuple[item_records.AlternateResult, ...] = ()
    variants: dict[str, str] = Field(default_factory=dict)
    conversions: dict[str, str] = Field(default_factory=dict)
    compiled: Compiled | None = None
    tasks: tuple[TaskResult, ...] = ()
    breaches: tuple[item_records.Breach, ...] = ()
    models: dict[str, str] = Field(default_factory=dict)
    withdrawn: dict[str, str] = Field(default_factory=dict)
    edited: dict[str, str] = Field(default_factory=dict, exclude_if=lambda value: not value)
    timestamp: str = ""  # of the last task, ISO 8601, UTC

    @property
    def flagged(self) -> bool:
        """Whether a person should look at the problem, because its classification is uncertain or a task has warnings."""
        unsure = self.classification is not None and self.classification.flagged
        return unsure or any(task.warnings for task in self.tasks)


class ProblemBank(Record):
    """All problems of one set in order, including rejected problems.

    `profile` and `seed` are the values that a launch set in place of problems.yaml, else None. Runs that update the bank reuse them.
    """

    name: Name
    title: str
    problems: tuple[ProblemRecord, ...]
    profile: str | None = None
    seed: int | None = None

    @property
    def accepted(self) -> tuple[ProblemRecord, ...]:
        return tuple(problem for problem in self.finished if ORIGINAL not in problem.withdrawn)

    @property
    def finished(self) -> tuple[ProblemRecord, ...]:
        """The problems with the end ACCEPTED, including those that reviewers rejected afterwards."""
        return tuple(problem for problem in self.problems if problem.end is ProblemEnd.ACCEPTED)

    @staticmethod
    def file_key(problem_set: str, path: str) -> str:
        """The key of a file of the bank, or of one of its exports."""
        return store_key("problems", problem_set, *path.split("/"))

    @staticmethod
    def history_key(problem_set: str, run_id: str, path: str) -> str:
        """The key of the copy that a run keeps of a file of the bank in the history."""
        return store_key("problems", problem_set, "history", run_id, *path.split("/"))

    @staticmethod
    def spending_folder(spending_id: str, problem_set: str) -> str:
        return store_key("spending", spending_id, "problems", problem_set)


class BankOption(Record):
    r"""One `\task`; `right` says whether `\ans` marks it."""

    text: str
    right: bool


class BankItem(Record):
    r"""One item of a bank.

    Attributes:
        id: the id of the problem. For a variant or a conversion, two dashes and `made` follow.
        problem: the id of the problem from which the item was made.
        made: `original`, the kind of the variant (`kind-2` for the second variant), or the format of the conversion.
        latex: the whole item from `\item` to `\end{solution}`, with its diagram.
        statement, options, solution: the parts of the item, as LaTeX.
        answer: the final answer of the solution; None if code does not find it.
        alternates: other solutions, each a solution environment.
        solved: `TaskResult.solved` of the item.
        unedited: the LaTeX before a reviewer edited the item; empty, and not stored, if nobody edited it.
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
    solved: str = NOT_SOLVED
    source_path: str = ""
    classification: item_records.ClassificationResult | None = None
    ideas: item_records.IdeaResult | None = None
    unedited: str = Field(default="", exclude_if=lambda value: not value)

    @property
    def content_id(self) -> str:
        """`p-` and 16 hexadecimal digits of a hash of the LaTeX before edits, without regard to spacing. Decisions of reviewers use it."""
        return "p-" + digest(" ".join((self.unedited or self.latex).split()))[:16]


class BankExport(Record):
    """All items of a bank in order.

    Attributes:
        preambles: the different preambles of the sources.
        libraries: libraries of TikZ, and packages that draw.
        packages: the packages that the items need.
        figures: the drawn figures, PNG or JPEG, by the ids of `publishing/markup.py`.
        signs: declarations of the characters outside ASCII that 8-bit TeX engines do not know.
    """

    name: Name
    title: str
    items: tuple[BankItem, ...] = ()
    preambles: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    signs: str = ""
    figures: dict[str, bytes] = Field(default_factory=dict)
