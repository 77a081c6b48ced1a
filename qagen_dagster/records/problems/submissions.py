"""Physics problems, and what the roles submit about them. `mended_latex` repairs submitted LaTeX.

The classes `...Result` are what models submit. Their docstrings and the descriptions of their
fields are part of the prompt, so models read them.
"""

import re
from enum import StrEnum
from typing import Annotated, Final, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from qagen_dagster.records.base import Difficulty, MathText, Record, Share
from qagen_dagster.records.ids import Name, fingerprint

# In JSON, a backslash before one of the letters f, b, t, r and n makes a control character. So commands lose
# their first two characters if a model does not double the backslashes of its LaTeX. Each row has a pattern of
# such a control character where a command began, and the two characters that replace it.
_LOST: Final = (
    (re.compile("\f"), r"\\f"),
    (re.compile("\x08"), r"\\b"),
    (re.compile("\t(?=(?:imes|heta|an|ext|extbf|extit|ag|au|frac|riangle|o|op|ask|itle)(?![a-z]))"), r"\\t"),
    (re.compile("\r(?=(?:ho|ight|angle|ightarrow|aisebox|m)(?![a-z]))"), r"\\r"),
    (re.compile("\n(?=(?:eq|abla|ewline|oindent)(?![a-z]))"), r"\\n"),
)
_FENCE = re.compile(r"\A\s*```[A-Za-z]{0,10}[ \t]*\n(.*?)\n?[ \t]*```\s*\Z", re.DOTALL)
_DOUBLED = re.compile(r"\A\\\\(?:item|begin)(?![A-Za-z])")
LEAST_SIDE: Final = 0.01  # minimum width or height of a box, as a share of the page
LEAST_CONFIDENCE: Final = 0.5  # a classification with a lower confidence is flagged
DIAGRAM_MARK: Final = "% diagram"  # a line of an item that marks the place of its diagram
ANSWER_MARK: Final = r"\ans"  # at the end of each \task that is a right option


def mended_latex(value: object) -> object:
    """Repair LaTeX that a model submitted. A value that is not text is returned unchanged.

    The result has the backslashes that JSON took from commands. It has no code fence around it, no white
    space around it, no carriage returns, and single backslashes where the model doubled them all.
    """
    if not isinstance(value, str):
        return value
    fenced = _FENCE.match(value)
    text = fenced.group(1) if fenced else value
    for lost, command in _LOST:
        text = lost.sub(command, text)
    text = text.replace("\r\n", "\n").replace("\r", "\n").strip()
    return text.replace("\\\\", "\\") if _DOUBLED.match(text) else text


LatexText = Annotated[
    str,
    Field(min_length=1, max_length=60_000),
    BeforeValidator(mended_latex),
    WithJsonSchema({"type": "string", "minLength": 1}),
]


class QuestionKind(StrEnum):
    """The kind of question that a problem asks."""

    MCQ_SC = "mcq_sc"  # one right option
    MCQ_MC = "mcq_mc"  # one or several right options
    SUBJECTIVE = "subjective"
    ASSERTION_REASON = "assertion_reason"
    PASSAGE = "passage"
    MATCH = "match"

    @property
    def is_mcq(self) -> bool:
        """Whether a question of this kind has options in a tasks environment."""
        return self in (QuestionKind.MCQ_SC, QuestionKind.MCQ_MC)


class Format(StrEnum):
    """The formats from which and to which problems can be converted."""

    MCQ_SC = "mcq_sc"
    MCQ_MC = "mcq_mc"
    SUBJECTIVE = "subjective"
    INTEGER = "integer"  # asks for a numerical answer
    ASSERTION_REASON = "assertion_reason"
    PASSAGE = "passage"
    MATCH = "match"

    @property
    def is_mcq(self) -> bool:
        return self in (Format.MCQ_SC, Format.MCQ_MC)

    @property
    def is_keyed(self) -> bool:
        """Whether the answer has several parts: two truth values and how they are linked, pairs, or one answer for each question."""
        return self in (Format.ASSERTION_REASON, Format.PASSAGE, Format.MATCH)


class VariantKind(StrEnum):
    """The part of a problem that a variant changes."""

    NUMERICAL = "numerical"  # only numbers
    CONTEXT = "context"  # the scenario; the numbers stay
    CONCEPTUAL = "conceptual"  # the physics concept
    CALCULUS = "calculus"  # a quantity that was constant varies
    MULTI = "multi"  # several problems become one


class DiagramKind(StrEnum):
    """The subject of a diagram."""

    GRAPH = "graph"
    CIRCUIT = "circuit"
    FREE_BODY = "free_body"
    GEOMETRY = "geometry"
    NONE = "none"


class ProblemInput(StrEnum):
    """The form in which a problem is given."""

    IMAGE = "image"
    TEX = "tex"
    DESCRIPTION = "description"  # of a diagram alone
    COMBINED = "combined"  # several problems, to become one


class Breach(Record):
    """A correctness property, by its number, that an output lacks. `detail` says why. A model that made the output is shown the breach."""

    property: int = Field(ge=1, le=16)
    detail: str

    def __str__(self) -> str:
        return f"property {self.property}: {self.detail}"


def _as_word(value: object) -> object:
    """The text in the spelling of enumeration values: "mcq_sc" for "MCQ-SC". Enumeration members and other types are unchanged."""
    if not isinstance(value, str) or isinstance(value, StrEnum):
        return value
    return "_".join(value.strip(" .*`'\"").lower().replace("-", " ").split())


def _as_diagram(value: object) -> object:
    """As `_as_word`, but None, "", "null" and "n/a" become "none"."""
    word = _as_word(value)
    return "none" if word in (None, "", "null", "n/a") else word


_SaidKind = Annotated[
    QuestionKind,
    BeforeValidator(_as_word),
    WithJsonSchema({"type": "string", "enum": [kind.value for kind in QuestionKind]}),
]
_SaidDifficulty = Annotated[
    Difficulty,
    BeforeValidator(_as_word),
    WithJsonSchema({"type": "string", "enum": [difficulty.value for difficulty in Difficulty]}),
]
_SaidDiagram = Annotated[
    DiagramKind,
    BeforeValidator(_as_diagram),
    WithJsonSchema({"type": "string", "enum": [kind.value for kind in DiagramKind]}),
]


class ClassificationResult(Record):
    """Submit what kind of physics question this is."""

    question_type: _SaidKind = Field(
        description="mcq_sc: one option is right; mcq_mc: one or several are; subjective: no options; "
        "assertion_reason: two statements to be judged; passage: a text with several questions; match: two lists."
    )
    difficulty: _SaidDifficulty = Field(description="For the students it is written for.")
    topic: str = Field(min_length=1, description="Chapter of physics, such as Rotational mechanics.")
    subtopic: str = Field(description="What of the topic, such as Rolling without slipping.")
    has_diagram: bool = Field(
        description="Whether a figure belongs to the question. A formula or a table is none."
    )
    diagram_type: _SaidDiagram = Field(default=DiagramKind.NONE, description="none without a figure.")
    num_options: int | None = Field(default=None, ge=0, le=26, description="How many options; null without.")
    estimated_marks: int = Field(default=4, ge=0, le=100, description="As printed; 4 where none are.")
    key_concepts: tuple[str, ...] = Field(default=(), description="Concepts that the solution needs.")
    requires_calculus: bool = Field(default=False, description="Whether it cannot be solved without.")
    confidence: Share = Field(description="Of the question type, 0 to 1; below 0.5 somebody will look at it.")

    @property
    def flagged(self) -> bool:
        """Whether a person should look at it."""
        return self.confidence < LEAST_CONFIDENCE


class ScanResult(Record):
    r"""Submit the problem as LaTeX, from \item to \end{solution}."""

    latex: LatexText = Field(
        description=r"Begins with \item and ends with \end{solution}; no preamble, no document environment."
    )
    raw_diagram_description: str | None = Field(
        default=None, description="What there is to draw, in words; null without a figure."
    )
    missing_sections: tuple[str, ...] = Field(
        default=(), description="What could not be read or is cut off, such as 'option D'; empty if nothing."
    )
    has_diagram: bool = Field(default=False, description="Whether a figure belongs to it.")
    contradictions: tuple[str, ...] = Field(
        default=(),
        description="Where the figure contradicts the statement, such as '4 kg in the figure, 5 kg in the text'; transcribe both as "
        "printed. Empty if nowhere.",
        exclude_if=lambda value: not value,
    )


class TikzResult(Record):
    """Submit the diagram as TikZ code."""

    tikz_code: LatexText = Field(
        description=r"A tikzpicture environment, several for separate parts; no preamble, no document environment."
    )
    libraries: tuple[str, ...] = Field(
        default=(),
        description="TikZ libraries it needs, such as calc or arrows.meta; circuitikz if it uses that.",
    )


class IdeaResult(Record):
    """Submit what the problem is about and how it is solved."""

    concepts: tuple[str, ...] = Field(description="Physical concepts and laws; at least one.")
    formulas: tuple[MathText, ...] = Field(default=(), description="Relations that are used, as LaTeX.")
    techniques: tuple[str, ...] = Field(description="Moves of the solution; at least one.")
    difficulty_factors: tuple[str, ...] = Field(default=(), description="What a student stumbles over here.")


class AlternateResult(Record):
    """Submit another way to the same answer."""

    solution: LatexText = Field(
        description=r"From \begin{solution} to \end{solution}, complete; ends at the answer."
    )
    method: str = Field(min_length=1, description="The approach in one line.")
    final_answer: str = Field(description="The answer it reaches, as LaTeX, with its unit.")


class VariantResult(Record):
    r"""Submit the variant, from \item to \end{solution}."""

    latex: LatexText = Field(
        description=r"Begins with \item and ends with \end{solution}, with a solution worked out anew."
    )
    changes: str = Field(
        default="",
        description="What was changed, in a line or two; of several sources, what came from which.",
    )


class ConversionResult(Record):
    r"""Submit the converted problem, from \item to \end{solution}."""

    latex: LatexText = Field(description=r"Begins with \item and ends with \end{solution}.")
    final_answer: str = Field(
        default="", description="What stands in the box, or the letters; of integer the number alone."
    )


class Picture(Record):
    """An image of a problem, by the hash of its bytes. The bytes are in the store."""

    sha256: str
    media_type: Literal["image/png", "image/jpeg"] = "image/png"


class PlaceOnPage(Record):
    """A box on a page. Its edges are shares of the width of the page from the left, or of its height from the top."""

    left: Share
    top: Share
    right: Share
    bottom: Share

    @property
    def is_empty(self) -> bool:
        return self.right - self.left < LEAST_SIDE or self.bottom - self.top < LEAST_SIDE

    def covers(self, other: "PlaceOnPage") -> float:
        """The share of the area of `other` that is in this box."""
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.bottom, other.bottom) - max(self.top, other.top)
        area = (other.right - other.left) * (other.bottom - other.top)
        return max(0.0, width) * max(0.0, height) / area if area else 0.0


class PageResult(Record):
    """Submit the boxes of all problems on the page, in reading order."""

    problems: tuple[PlaceOnPage, ...] = Field(
        min_length=1, max_length=60, description="One box for each problem."
    )


class Problem(Record):
    """One problem as it was given.

    Attributes:
        id: unique within its set.
        source_path: the path of its file as a person gave it, with `#page=N` for page N of a PDF. A COMBINED
            input has the problem ids or files of its parts instead. A DESCRIPTION has the word "description".
        index: the number of the item or page in that file, or of the group of problems in the set; from 1.
        tex: for a TEX input the item as it is in the file; for a DESCRIPTION the description.
        preamble: for a TEX input the packages and macros before its document. For a COMBINED input of a
            set the preamble of its first part.
        picture: for an IMAGE input the image that models are shown.
        parts: for a COMBINED input the items to combine.
        style: for a COMBINED input the style of the new problem, in words.
        kind: the kind that a person gave; None: the classifier finds it out.
        source_format: the format that a person gave; None: the structure of the item shows it.
        classification, ideas: results that a person gave, so that no model is asked for them; else None.
    """

    id: Name
    input: ProblemInput
    source_path: str
    index: int = Field(default=1, ge=1)
    tex: str = ""
    preamble: str = ""
    picture: Picture | None = None
    parts: tuple[str, ...] = ()
    style: str = ""
    kind: QuestionKind | None = None
    source_format: Format | None = None
    classification: ClassificationResult | None = None
    ideas: IdeaResult | None = None

    @property
    def fingerprint(self) -> str:
        """A hash of everything about the problem that a model may be shown, without its id, path and index."""
        return fingerprint([self.model_dump_json(exclude={"id", "source_path", "index"})])
