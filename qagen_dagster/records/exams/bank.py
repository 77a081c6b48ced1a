"""Records of exam items: the faults that code finds in an item, the result of its slot, and the bank with all results."""

from enum import StrEnum
from itertools import groupby

from pydantic import AwareDatetime, Field

from qagen_dagster.records.base import Difficulty, Record
from qagen_dagster.records.exams import submissions
from qagen_dagster.records.ids import Name, fingerprint, normalise, store_key
from qagen_dagster.records.run import CallSummary

DUPLICATE_STAGE = "repeats"  # the stage at which a duplicate is rejected
REVIEW_STAGE = "review"  # the stage at which a person rejects an item
REJECTED = "rejected.jsonl"


class Fault(Record):
    """One fault that code finds in a question. The implementer is shown `detail`."""

    name: str
    severity: submissions.Severity
    detail: str


class ProofStatus(StrEnum):
    """Whether the checkable form confirms the key."""

    PROVEN = "proven"  # exactly one option has the value of the form, and it is the key
    REFUTED = "refuted"  # another option than the key, several options or no option has the value
    UNPROVEN = "unproven"  # the form or the options could not be read as values, or the form does not use what the stem gives
    ABSENT = "absent"  # there is no form


class Proof(Record):
    """The result of computing the checkable form and comparing it with every option."""

    status: ProofStatus = ProofStatus.ABSENT
    value: str = ""  # of the form, as text
    matching: tuple[submissions.Letter, ...] = ()  # options of that value
    detail: str = ""


class Examination(Record):
    """Everything that code finds out about one question."""

    faults: tuple[Fault, ...] = ()
    proof: Proof = Proof()


class Stage(StrEnum):
    """The stages of the work on an item. A rejected item names the stage that found its fault."""

    DESIGNER = "designer"
    IMPLEMENTER = "implementer"
    GATES = "gates"  # checks by code, including the proof of the key
    BLIND_SOLUTION = "blind_solution"  # the verifier's answer, compared with the key by code
    VERIFIER = "verifier"
    STYLE_JUDGE = "style_judge"


class Finding(Record):
    """The reason why an attempt failed. `instructions` tell the implementer what to change."""

    stage: Stage
    name: str
    severity: submissions.Severity
    detail: str
    instructions: str = ""


class Attempt(Record):
    """One implementation of an idea with the results of the stages that it reached.

    `broken` has the stage that ended without a result, and the reason; None if every stage ended with a result.
    """

    number: int
    package: submissions.QuestionPackage | None = None
    examination: Examination | None = None
    blind: submissions.BlindSolution | None = None
    report: submissions.VerifierReport | None = None
    style: submissions.StyleReport | None = None
    broken: Finding | None = None


class SlotEnd(StrEnum):
    """The end of the work on a slot. ACCEPTED and REJECTED are final."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    BUDGET_EXHAUSTED = "budget_exhausted"


class StageLog(Record):
    """One step, as a line of logs.jsonl. `raw_text` is the verbatim text of the model."""

    stage: Stage
    attempt: int
    ok: bool
    detail: str = ""
    raw_text: str = ""
    at: str = ""  # ISO 8601, UTC


class SlotResult(Record):
    """The result of one slot with everything that led to it."""

    part: submissions.ExamPart
    slot: int  # from 1
    end: SlotEnd
    end_detail: str = ""
    plan: submissions.IdeaPlan | None = None
    attempts: tuple[Attempt, ...] = ()
    item: "ExamItem | None" = None
    rejected: "RejectedItem | None" = None
    log: tuple[StageLog, ...] = ()
    calls: tuple[CallSummary, ...] = ()
    fingerprint: str = ""  # of models, prompts, exam, schema, seed and code
    run_id: str = ""
    finished: str = ""  # ISO 8601, UTC


class SlotPlan(Record):
    """The idea of one slot; `plan` is None if no design could be used."""

    part: submissions.ExamPart
    slot: int
    plan: submissions.IdeaPlan | None = None
    failures: tuple[str, ...] = ()  # for each design that could not be used, the reason
    calls: tuple[CallSummary, ...] = ()


class ExamItem(Record):
    """An accepted item: one line of accepted.jsonl.

    Attributes:
        id: `{schema_id}-{difficulty}-{fingerprint}`, see `item_id`.
        blind_solution: an answer from stem and options alone, by the verifier. After an edit: by the solver, or empty without a solver.
        proof: the result of computing the checkable form and comparing it with the options.
        models: the name of the model by role.
        attempts: the number of implementations of the idea, including the accepted one.
        timestamp: the time at which the item was accepted, ISO 8601, UTC.
        edited: the reviewer who edited the item; empty, and not stored, if nobody edited it.
    """

    id: Name
    exam: Name
    schema_id: Name
    schema_title: str
    difficulty: Difficulty
    idea_plan: submissions.IdeaPlan
    question_package: submissions.QuestionPackage
    blind_solution: submissions.BlindSolution
    verifier_report: submissions.VerifierReport
    style_report: submissions.StyleReport
    proof: Proof = Proof()
    models: dict[str, str] = Field(default_factory=dict)
    attempts: int
    timestamp: str
    edited: str = Field(default="", exclude_if=lambda value: not value)

    @property
    def question(self) -> submissions.ExamQuestion:
        return self.question_package.question

    @property
    def key_by(self) -> str:
        """The proof that the key is right: by the checkable `form`, by the `solver` (the blind solution), by `both`, or by `neither`."""
        form = self.proof.status is ProofStatus.PROVEN
        solver = self.blind_solution.right == (self.question.correct_option,)
        return {(True, True): "both", (True, False): "form", (False, True): "solver"}.get(
            (form, solver), "neither"
        )

    @property
    def letters(self) -> list[submissions.Letter]:
        return sorted(self.question.options)

    def is_key(self, letter: submissions.Letter) -> bool:
        return letter == self.question.correct_option

    def feedback(self, letter: submissions.Letter) -> str:
        """For a wrong option, the mistake that leads to it (empty if it is not known). For the key, the insight of the solution."""
        package = self.question_package
        return package.solution.key_insight if self.is_key(letter) else package.distractor_map.get(letter, "")

    @property
    def solution_text(self) -> str:
        """The solution as text for people."""
        solution = self.question_package.solution
        return f"{solution.key_insight}\n\n{solution.reasoning}"


class RejectedItem(Record):
    """A slot that gave no item: one line of rejected.jsonl.

    Attributes:
        slot: the number of the slot in its part, from 1.
        stage: what rejected the item: a value of `Stage`, DUPLICATE_STAGE for a duplicate in the bank, or REVIEW_STAGE for a reviewer.
        failure_type: the reason in one word.
        reasons: the reasons in sentences, for people.
    """

    exam: Name
    schema_id: Name
    schema_title: str
    difficulty: Difficulty
    slot: int
    stage: str
    failure_type: str
    severity: submissions.Severity
    reasons: tuple[str, ...] = ()
    idea_plan: submissions.IdeaPlan | None = None
    question_package: submissions.QuestionPackage | None = None
    blind_solution: submissions.BlindSolution | None = None
    verifier_report: submissions.VerifierReport | None = None
    style_report: submissions.StyleReport | None = None
    models: dict[str, str] = Field(default_factory=dict)
    attempts: int
    timestamp: str


class ItemBank(Record):
    """The accepted items of one exam, in the order of schemas, difficulties and slots. `figures` has the drawn figures by their ids."""

    exam: Name
    name: str
    items: tuple[ExamItem, ...]
    # of the bank, not of an export, so that exports of one bank always have the same bytes
    timestamp: AwareDatetime
    figures: dict[str, bytes] = Field(default_factory=dict)

    def sections(self) -> list[tuple[tuple[str, str], list[ExamItem]]]:
        """The ids and titles of schemas with their items, in order."""
        groups = groupby(self.items, key=lambda item: (item.schema_id, item.schema_title))
        return [(schema, list(items)) for schema, items in groups]

    @staticmethod
    def file_key(exam: str, path: str) -> str:
        """The key of a file of the bank, or of one of its exports."""
        return store_key("exams", exam, *path.split("/"))

    @staticmethod
    def history_key(exam: str, run_id: str, path: str) -> str:
        """The key of the copy that a run keeps of a file of the bank in the history."""
        return store_key("exams", exam, "history", run_id, *path.split("/"))


class Given(Record):
    """The options with which a launch replaced settings of exam.yaml. Runs that bring the part up to date use them again.

    `goal` says that the launch chose the number of items, the weights or the schemas.
    """

    profile: str | None = None
    seed: int | None = None
    max_designer_retries: int | None = None
    max_implementer_retries: int | None = None
    models: dict[str, str] = Field(default_factory=dict)
    goal: bool = False


class PartSet(Record):
    """The present results of one part. A run adds results. It removes earlier results only if it is told to replace them.

    Attributes:
        results: the store keys of the results, in the order of the slots. They may have different fingerprints.
        profile, seed, models, fingerprint, run_id, started, ended: the values of the last run that changed the set.
        unfinished: the number of slots that a later run resumes.
        given: the options with which that run was launched; empty in sets of older versions.
    """

    part: submissions.ExamPart
    schema_title: str
    profile: str
    seed: int
    slots: int
    models: dict[str, str]
    fingerprint: str
    results: tuple[str, ...] = ()
    unfinished: int = 0
    given: Given = Given()
    run_id: str
    started: str  # ISO 8601, UTC
    ended: str

    @property
    def finished(self) -> dict[int, str]:
        """The store keys of the results of the ended slots, by the number of the slot."""
        keys = (key for key in self.results if not key.endswith(".partial.json"))
        return {int(key.split("/")[-2]): key for key in keys}

    def models_of(self, key: str, ended: ExamItem | RejectedItem | None) -> dict[str, str]:
        """The models that made the result at `key`. `ended`, the item of its slot, names them if the result has an earlier fingerprint."""
        return self.models if ended is None or self.fingerprint in key else ended.models


class Counts(Record):
    """The number of slots of one kind, by how they ended."""

    accepted: int = 0
    rejected: int = 0


class BankStats(Record):
    """stats.json: the counts of an exam.

    Attributes:
        failure_types: the number of rejected items by failure type.
        caught_by: by stage, the number of failed designs and attempts, of duplicates, and of items that reviewers rejected.
        proofs: the number of accepted items by their `ProofStatus`.
        keys_by: the number of accepted items by what showed that the key is right, see `ExamItem.key_by`.
        first_time: the number of items whose first implementation was accepted.
        usd: the cost; None if a price is unknown.
    """

    exam: str
    name: str
    accepted: int
    rejected: int
    unfinished: int
    by_schema: dict[str, Counts]
    by_difficulty: dict[str, Counts]
    by_part: dict[str, Counts]
    failure_types: dict[str, int]
    caught_by: dict[str, int]
    proofs: dict[str, int]
    keys_by: dict[str, int] = Field(default_factory=dict)
    first_time: int
    attempts: int
    calls: int
    input_tokens: int
    output_tokens: int
    usd: float | None
    models: dict[str, list[str]]


def item_id(schema_id: str, difficulty: Difficulty, question: submissions.ExamQuestion) -> str:
    """`{schema_id}-{difficulty}-{fingerprint}`. The fingerprint depends only on the stem, the options and the key."""
    options = [f"{letter}:{normalise(question.options[letter])}" for letter in sorted(question.options)]
    found = fingerprint([normalise(question.stem), *options, question.correct_option])
    return f"{schema_id}-{difficulty.value}-{found}"
