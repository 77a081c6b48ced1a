"""Exam items: what the four roles submit, and the partition and the schema of an item.

Fields follow "ESAT Question Generator - Project Structure Documentation". Language models read the docstrings of the submissions and the
descriptions of their fields. Both are part of the prompt.
"""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator
from pydantic.json_schema import SkipJsonSchema

from qagen_dagster.records.base import Difficulty, MathText, Record
from qagen_dagster.records.blind import LETTERS, Letter, SaidLetter
from qagen_dagster.records.blind import BlindSolution as BlindSolution
from qagen_dagster.records.blind import as_letter as as_letter
from qagen_dagster.records.ids import Name, store_key

Score = Annotated[int, Field(ge=0, le=10)]


class Verdict(StrEnum):
    """The verdict of a verifier or a style judge."""

    PASSED = "PASS"
    FAILED = "FAIL"


class Severity(StrEnum):
    """Whether another implementation of the same idea can help after a FAIL."""

    FIXABLE = "fixable_with_regeneration"
    STRUCTURAL = "structural_flaw"
    UNKNOWN = "unknown"


def sample_of(seed: int, slot: int, number: int) -> int:
    """A sample number that differs by seed, slot (from 1, below 10,000) and `number` (below 1,000)."""
    return (seed * 10_000 + slot) * 1_000 + number


def read_sample(sample: int) -> tuple[int, int, int]:
    """The seed, the slot and the number from which `sample_of` made a sample number."""
    rest, number = divmod(sample, 1_000)
    seed, slot = divmod(rest, 10_000)
    return seed, slot, number


def as_verdict(value: object) -> object:
    """A verdict in its standard form, such as PASS for "passed" or "**PASS**". Other text becomes capitals; other values are unchanged."""
    word = value.strip(" .*`'\"").upper() if isinstance(value, str) else value
    return {"PASSED": "PASS", "FAILED": "FAIL"}.get(str(word), word)


def as_severity(value: object) -> object:
    """A severity in its standard form. An unknown word becomes UNKNOWN. Words for none, such as "null", become None."""
    if not isinstance(value, str) or isinstance(value, Severity):
        return value
    word = "_".join(value.strip(" .*`'\"").lower().replace("-", " ").split())
    if word in ("", "none", "null", "n/a"):
        return None
    return word if word in {severity.value for severity in Severity} else Severity.UNKNOWN.value


_SaidVerdict = Annotated[
    Verdict, BeforeValidator(as_verdict), WithJsonSchema({"type": "string", "enum": ["PASS", "FAIL"]})
]
_SaidSeverity = Annotated[
    Severity | None,
    BeforeValidator(as_severity),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "enum": ["fixable_with_regeneration", "structural_flaw"]},
                {"type": "null"},
            ]
        }
    ),
    Field(
        description="With FAIL: fixable_with_regeneration if another implementation of the same idea can give a good question, "
        "structural_flaw if none can."
    ),
]


class ExamPart(Record):
    """The partition `exam/schema/difficulty`."""

    exam: Name
    schema_id: Name
    difficulty: Difficulty

    @property
    def key(self) -> str:
        return f"{self.exam}/{self.schema_id}/{self.difficulty.value}"

    @classmethod
    def from_key(cls, key: str) -> "ExamPart":
        """Parse a partition key. Raises ValueError unless it has three valid segments."""
        parts = key.split("/")
        if len(parts) != 3:
            raise ValueError(f"{key!r} is not exam/schema/difficulty")
        return cls(exam=parts[0], schema_id=parts[1], difficulty=Difficulty(parts[2]))

    def results_folder(self) -> str:
        return self._folder("results")

    def result_key(self, slot: int, fingerprint: str) -> str:
        return store_key(self._folder("results"), f"{slot:04d}", fingerprint, suffix=".json")

    def partial_key(self, slot: int, fingerprint: str) -> str:
        """The key of the result of a slot that is not finished because the budget ended."""
        return store_key(self._folder("results"), f"{slot:04d}", fingerprint, suffix=".partial.json")

    def journal_key(self, slot: int, fingerprint: str) -> str:
        return store_key(self._folder("journals"), f"{slot:04d}", fingerprint, suffix=".json")

    def set_key(self) -> str:
        """The key of the `PartSet`, which lists the present results of the part."""
        return store_key(self._folder("sets"), suffix=".json")

    def spending_folder(self, spending_id: str) -> str:
        return store_key("spending", spending_id, "exams", *self.key.split("/"))

    def _folder(self, kind: str) -> str:
        return f"exams/{self.exam}/{kind}/{self.schema_id}/{self.difficulty.value}"


class ExamSchema(Record):
    """One block of schemas.md: a kind of reasoning. `text` is the whole block, `line` where it starts (1-based)."""

    id: Name
    title: MathText
    core_move: MathText
    contexts: tuple[str, ...]
    wrong_paths: tuple[str, ...]
    notes: tuple[str, ...] = ()
    text: str
    line: int


class IdeaPlan(Record):
    """Submit the reasoning idea of one question. No numbers, no equations, nothing solved."""

    schema_id: MathText = Field(description="The identifier of the schema you were given.")
    idea_summary: MathText = Field(description="The one dominant thinking move, in two to four sentences.")
    function_or_object_type: MathText = Field(
        description="Kind of mathematical or physical object that carries the idea; no specific one."
    )
    constraints_used: tuple[MathText, ...] = Field(
        min_length=1, description="Conditions that the solver has to bring together."
    )
    what_is_asked: MathText = Field(description="The quantity or statement that the question will ask for.")
    intended_wrong_paths: tuple[MathText, ...] = Field(
        min_length=3, description="Mistakes in reasoning, not in arithmetic, each leading to another answer."
    )
    difficulty_rationale: MathText = Field(description="Why this is as hard as asked for.")
    mcq_viability: MathText = Field(description="Why the wrong paths give believable options.")


class ExamQuestion(Record):
    """A stem with four to eight options, lettered from A without a gap."""

    stem: MathText = Field(description="Two to six lines; LaTeX between $ signs.")
    options: dict[Letter, MathText] = Field(
        min_length=4, max_length=8, description="Options by letter, from A on."
    )
    correct_option: SaidLetter = Field(description="Letter of the one right option.")

    @model_validator(mode="after")
    def _lettered(self) -> "ExamQuestion":
        expected = list(LETTERS[: len(self.options)])
        if sorted(self.options) != expected:
            raise ValueError(f"options must be {expected[0]} to {expected[-1]} without a gap")
        if self.correct_option not in self.options:
            raise ValueError(f"there is no option {self.correct_option}")
        return self


class ExamSolution(Record):
    """The solution as a candidate would write it."""

    reasoning: MathText = Field(description="Short, exact steps.")
    key_insight: MathText = Field(description="What makes it short, in one sentence.")


class CheckableForm(Record):
    """The answer as something that can be computed from the givens of the stem."""

    givens: dict[str, MathText] = Field(
        description="Name to exact value of each given of the stem, such as {'m': '2', 'v': '3/2'}. A given that "
        "stays a symbol in the options has its own name as value, {'F': 'F'}: it is positive."
    )
    expression: Annotated[
        MathText,
        Field(
            max_length=2000,
            description="The answer in SymPy syntax over the names of the givens; it must derive the answer, not state it.",
        ),
    ]
    unit: str = Field(default="", description="Unit of the value as the options write it; empty without one.")


class QuestionPackage(Record):
    """Submit the finished question."""

    question: ExamQuestion
    solution: ExamSolution
    distractor_map: dict[Letter, MathText] = Field(
        description="For every wrong option, the mistake in reasoning that leads to exactly this value."
    )
    check: CheckableForm | None = Field(
        default=None, description="Where the answer is a value: how to compute it. Else null."
    )


class VerifierReport(Record):
    """Submit your verdict on the question."""

    verdict: _SaidVerdict
    confidence: Literal["high", "medium"] | None = Field(default=None, description="With PASS.")
    failure_type: str = Field(
        default="", description="With FAIL: the gravest of the kinds that you were told."
    )
    reasons: tuple[str, ...] = Field(
        default=(),
        description="With FAIL: what is wrong, one point each. With PASS and medium: the doubt that remains.",
    )
    severity: _SaidSeverity = None
    regen_instructions: str = Field(
        default="", description="With FAIL that can be fixed: what has to change."
    )


class StyleScores(Record):
    """Six categories, 0 to 10."""

    authenticity: Score = Field(description="Tone, compactness and structure of a real paper.")
    one_idea: Score = Field(description="One idea, not two glued together.")
    no_calculator: Score = Field(description="Clean arithmetic, exact forms.")
    elegance: Score = Field(description="Short once seen, no grind.")
    distractors: Score = Field(description="Each wrong option is a real pitfall.")
    plausibility: Score = Field(description="Numbers and answers are plausible.")

    @property
    def values(self) -> tuple[int, ...]:
        return tuple(score for _, score in self)

    @property
    def mean(self) -> float:
        return sum(self.values) / len(self.values)


class JudgedFlaw(Record):
    """A flaw in the writing of the item that code cannot find."""

    criterion: Literal[
        "ambiguous_information", "implausible_distractors", "gratuitous_information", "logical_cues"
    ]
    detail: str = Field(min_length=1, description="Where, and why it is a flaw, in one line.")


class StyleReport(Record):
    """Submit your judgement of the style. `verdict` is kept as said; `scores` decide."""

    verdict: _SaidVerdict
    scores: StyleScores
    failure_type: str = Field(
        default="", description="With FAIL, or with any score below 8: the gravest kind of fault."
    )
    regen_instructions: str = Field(
        default="", description="With FAIL, or with any score below 8: what has to change."
    )
    severity: _SaidSeverity = None
    flaws: SkipJsonSchema[Annotated[tuple[JudgedFlaw, ...], Field(exclude_if=lambda value: not value)]] = ()


class FlawReport(StyleReport):
    """Submit your judgement of the style. `verdict` is kept as said; `scores` decide."""

    flaws: tuple[JudgedFlaw, ...] = Field(
        default=(),
        description="Flaws of these four kinds only: unclear wording, wrong options that nobody would choose, information that the "
        "question does not need, wording that gives the key away. Empty if there are none.",
    )
