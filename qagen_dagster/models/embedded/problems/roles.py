"""The seven problem roles of the embedded models: what each reads from a prompt, and what it submits or reports.

TeX is classified, and its ideas are found, by environments, wording and lists of terms of school physics. Doubtful results have a low
confidence.
"""

import re
from collections.abc import Callable, Mapping, Sequence

from qagen_dagster.latex import structure
from qagen_dagster.latex.comparison import numbers_of, words_of
from qagen_dagster.models.embedded.conversation import Action, Conversation
from qagen_dagster.models.embedded.problems.convert import convert
from qagen_dagster.models.embedded.problems.reading import UnableError, label_of, part_of
from qagen_dagster.models.embedded.problems.vary import vary
from qagen_dagster.records.base import Difficulty
from qagen_dagster.records.data_files import read_table
from qagen_dagster.records.problems import submissions as items

_NO_EYES = "embedded models cannot see pictures: bind {role} to a model with images"
_ITEM = re.compile(r"\\item(?![A-Za-z@])")
_VARIANTS = {
    "context": "embedded:problem-variant cannot invent another scene: bind variant to a language model",
    "conceptual": "embedded:problem-variant cannot change the physics: bind variant to a language model",
    "calculus": "embedded:problem-variant cannot make what was constant vary: bind variant to a language model",
    "multi": "embedded:problem-variant cannot join problems into one: bind variant to a language model",
}
_TERMS: Mapping[str, Sequence[Sequence[str]]] = read_table(__package__, "terms.toml")


def _role(answer: Callable[[str], Action]) -> Callable[[Conversation], list[Action]]:
    """A role that answers a prompt by `answer`: it submits, or reports a reason in one line. A rejected submission is not tried again."""

    def decide(conversation: Conversation) -> list[Action]:
        refused = [exchange.text for exchange in conversation.exchanges if exchange.is_error]
        if refused:
            return [_unable(f"embedded has no other answer; refused was: {refused[-1]}")]
        try:
            return [answer(conversation.prompt)]
        except UnableError as error:
            return [_unable(str(error))]

    return decide


@_role
def classify_tex(prompt: str) -> Action:
    """Kind, topic and difficulty of TeX, by rules."""
    if label_of(prompt, "Input") == "image":
        raise UnableError(_NO_EYES.format(role="classifier"))
    return Action("submit_classification", _classify(part_of(prompt, "problem")).model_dump(mode="json"))


@_role
def scan(prompt: str) -> Action:
    """The item without the text around it; adding missing parts needs a language model."""
    if label_of(prompt, "Input") == "image":
        raise UnableError(_NO_EYES.format(role="scanner"))
    text = part_of(prompt, "problem")
    beginning, solutions = _ITEM.search(structure.code_of(text)), structure.environments(text, "solution")
    end = solutions[0][1] if solutions else len(text)
    item = text[beginning.start() : end] if beginning else text
    if faults := structure.item_faults(item):
        raise UnableError(f"embedded:problem-scanner cannot mend the item: {faults[0]}")
    return Action("submit_scan", {"latex": item, "has_diagram": bool(structure.tikz_pictures(item))})


@_role
def draw(prompt: str) -> Action:
    """Always raises UnableError, because no rule can draw."""
    raise UnableError("embedded:problem-tikz cannot draw: bind tikz to a language model")


@_role
def find_ideas(prompt: str) -> Action:
    """Concepts and techniques, by lists of terms."""
    ideas = _ideas_of(part_of(prompt, "problem"), part_of(prompt, "solution"))
    if ideas is None:
        raise UnableError("embedded:problem-ideas knows none of the terms of this problem")
    return Action("submit_ideas", ideas.model_dump(mode="json"))


@_role
def make_variant(prompt: str) -> Action:
    """Other numbers, if everything that depends on them can be recomputed."""
    kind = label_of(prompt, "Variant")
    if kind != "numerical":
        raise UnableError(_VARIANTS.get(kind, _VARIANTS["context"]))
    number = label_of(prompt, "Number")
    latex, changes = vary(
        part_of(prompt, "item"), int(number) if number.isdecimal() else 1, part_of(prompt, "earlier")
    )
    return Action("submit_variant", {"latex": latex, "changes": f"embedded:problem-variant: {changes}"})


@_role
def convert_format(prompt: str) -> Action:
    """Another format of the same numerical answer."""
    target = label_of(prompt, "To")
    if target not in set(items.Format):
        raise UnableError(f"embedded:problem-converter knows no format {target!r}")
    latex, answer = convert(part_of(prompt, "item"), items.Format(target))
    return Action("submit_conversion", {"latex": latex, "final_answer": answer})


@_role
def solve_otherwise(prompt: str) -> Action:
    """Always raises UnableError, because no rule can find another solution."""
    raise UnableError(
        "embedded:problem-alternate cannot think of another way: bind alternate to a language model"
    )


def _unable(reason: str) -> Action:
    return Action("report_unable", {"reason": " ".join(reason.split())[:500]})


def counted(pattern: str, text: str) -> int:
    """How many different words of the text match the pattern."""
    found = re.finditer(rf"\b(?:{pattern})\b", text, re.IGNORECASE)
    return len({word.group().lower() for word in found})


def found_in(table: Sequence[Sequence[str]], text: str) -> tuple[str, ...]:
    """The names whose pattern matches the text, in the table's order."""
    return tuple(name for name, pattern in table if re.search(pattern, text, re.IGNORECASE))


_SEVERAL = re.compile(
    r"one or more|more than one|select all|which of the(?:se| following) (?:are|stay|statements are)|are (?:correct|right|true)|options? \([a-d]\) and",
    re.IGNORECASE,
)
_LETTERED = re.compile(r"(?m)^\s*(?:\\item\s*)?(?:\[?\(?[a-dA-D]\)|\[[a-dA-D]\.?\])")
_PICTURE = re.compile(r"\\includegraphics|\\begin\s*\{(?:tikzpicture|circuitikz|figure)\}")
_DIAGRAMS = (
    (items.DiagramKind.CIRCUIT, r"circuitikz|circuit|resistor|battery|to\[R"),
    (items.DiagramKind.GRAPH, r"\\begin\s*\{axis\}|graph|plot"),
    (items.DiagramKind.FREE_BODY, r"free[- ]body|block|incline|pulley"),
)
_CALCULUS = re.compile(r"\\int|\\frac\s*\{d|\\dot|derivative|integrat", re.IGNORECASE)
_FORMULA = re.compile(r"\$[^$]{3,}=[^$]*\$|\\\[|\\begin\{(?:align|equation)", re.DOTALL)


def _classify(latex: str) -> items.ClassificationResult:
    """The classification of a question, as far as rules can tell from the TeX."""
    statement, solution = (
        structure.code_of(structure.statement_of(latex)),
        structure.code_of(structure.solution_of(latex)),
    )
    kind, kind_sure = _kind(latex, statement, solution)
    topic, subtopic, topic_sure = _topic(f"{statement} {solution}")
    diagram = _diagram(latex, statement)
    options = structure.options_of(latex)
    concepts = found_in(_TERMS["concepts"], f"{statement} {solution}")
    difficulty = _difficulty(solution, concepts)
    return items.ClassificationResult(
        question_type=kind,
        difficulty=difficulty,
        topic=topic,
        subtopic=subtopic,
        has_diagram=diagram is not items.DiagramKind.NONE,
        diagram_type=diagram,
        num_options=len(options) or None,
        estimated_marks=3 if kind is items.QuestionKind.ASSERTION_REASON else 4,
        key_concepts=concepts[:5],
        requires_calculus=bool(_CALCULUS.search(solution)),
        confidence=round(min(kind_sure, topic_sure), 2),
    )


def _ideas_of(statement: str, solution: str) -> items.IdeaResult | None:
    """Concepts, formulas and techniques that the terms of the text show; None if no concept is known."""
    text = f"{statement} {solution}"
    concepts = found_in(_TERMS["concepts"], text)
    topic, subtopic, sure = _topic(text)
    if not concepts and sure < 0.5:
        return None
    techniques = found_in(_TERMS["techniques"][:-1], solution) or (_TERMS["techniques"][-1][0],)
    return items.IdeaResult(
        concepts=concepts or (f"{topic}: {subtopic}",),
        formulas=_formulas(solution),
        techniques=techniques,
        difficulty_factors=_factors(text, concepts),
    )


def _kind(latex: str, statement: str, solution: str) -> tuple[items.QuestionKind, float]:
    low = statement.lower()
    if "assertion" in low and "reason" in low:
        return items.QuestionKind.ASSERTION_REASON, 0.9
    if re.search(r"\bmatch\b|column[- ]?i\b|list[- ]?i\b", low):
        return items.QuestionKind.MATCH, 0.85
    options = structure.options_of(latex)
    if structure.has_environment(latex, "tasks"):
        rights = sum(option.right for option in options)
        if rights > 1 or _SEVERAL.search(f"{statement} {solution}"):
            return items.QuestionKind.MCQ_MC, 0.95 if rights > 1 else 0.6
        return items.QuestionKind.MCQ_SC, 0.95 if rights == 1 else 0.6
    parts = len(re.findall(r"\\item(?![A-Za-z])", statement))
    if parts >= 2 and statement.count("?") + len(re.findall(r"\b(?:find|what|calculate)\b", low)) >= 2:
        return items.QuestionKind.PASSAGE, 0.8
    if len(_LETTERED.findall(statement)) >= 3:
        return items.QuestionKind.MCQ_SC, 0.45  # options, but not in a tasks environment
    return items.QuestionKind.SUBJECTIVE, 0.85 if words_of(statement) else 0.2


def _topic(text: str) -> tuple[str, str, float]:
    scores = [(counted(pattern, text), topic, subtopic) for topic, subtopic, pattern in _TERMS["topics"]]
    best = max(scores, key=lambda score: score[0])
    if not best[0]:
        return "Physics", "not recognised", 0.3
    return best[1], best[2], min(0.9, 0.5 + 0.1 * best[0])


def _diagram(latex: str, statement: str) -> items.DiagramKind:
    marked = any(line.strip() == items.DIAGRAM_MARK for line in latex.splitlines())
    if not (marked or _PICTURE.search(statement) or structure.tikz_pictures(statement)):
        return items.DiagramKind.NONE
    for kind, pattern in _DIAGRAMS:
        if re.search(pattern, statement, re.IGNORECASE):
            return kind
    return items.DiagramKind.GEOMETRY


def _difficulty(solution: str, concepts: tuple[str, ...]) -> Difficulty:
    """The difficulty by counts of formulas, concepts and calculus."""
    load = len(_FORMULA.findall(solution)) + len(concepts) + 3 * bool(_CALCULUS.search(solution))
    if load <= 4:
        return Difficulty.EASY
    return Difficulty.MEDIUM if load <= 8 else Difficulty.HARD


def _formulas(solution: str) -> tuple[str, ...]:
    """Formulas of the solution before numbers are inserted."""
    found: list[str] = []
    for formula in re.findall(r"\$([^$]+)\$", solution):
        sides = [side.strip() for side in formula.split("=")]
        symbolic = [side for side in sides if re.search(r"[A-Za-z]", side) and not _numeric(side)]
        if len(symbolic) >= 2:
            found.append(f"${' = '.join(symbolic)}$")
    return tuple(dict.fromkeys(found))[:6]


def _numeric(side: str) -> bool:
    bare = re.sub(r"\\(?:mathrm|text)\s*\{[^{}]*\}|\\[A-Za-z]+", "", side)
    return bool(numbers_of(side)) and (not re.search(r"[A-Za-z]", bare) or "boxed" in side)


def _factors(text: str, concepts: tuple[str, ...]) -> tuple[str, ...]:
    factors = {
        "several concepts at once": len(concepts) > 2,
        "calculus": _CALCULUS.search(text),
        "a root has to be taken": r"\sqrt" in text,
    }
    return tuple(factor for factor, met in factors.items() if met)
