"""Checks an exam question without a model: whether its LaTeX is balanced, other faults, whether its key is proven, and item-writing flaws.

The flaws follow the 19 criteria of arXiv 2503.10533: code checks 15 of them, and the style judge four if it is asked for them.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

from qagen_dagster.latex import equalities, question_faults
from qagen_dagster.latex.comparison import boxed_answers, named_options, without_layout
from qagen_dagster.latex.structure import structure_faults
from qagen_dagster.loop.exams import computed_key
from qagen_dagster.mathematics import sandbox as sandboxes
from qagen_dagster.mathematics.equality import equal, known_value
from qagen_dagster.mathematics.evaluator import FormError, FormFailure
from qagen_dagster.mathematics.sandbox import Sandbox
from qagen_dagster.mathematics.units import ONE
from qagen_dagster.publishing.markup import FORMULAS, mathml, split
from qagen_dagster.records.exams.bank import Examination, Fault, ProofStatus
from qagen_dagster.records.exams.submissions import ExamQuestion, QuestionPackage, Severity, StyleReport

_ESCAPED = re.compile(r"\\[\\${}%&#_]")  # a line break before a bracket does not open a formula
_PER_CENT = re.compile(r"(?<!\\)%")
_MATH_MARKS = re.compile(r"\$\$|\\[()\[\]]")
_OPEN_END = re.compile(r"\\(?:frac|dfrac|tfrac|sqrt)\s*(?:\$|$)|[\^_]\s*(?:\$|$)|\\$")
_BARE = re.compile(r"\\(?:frac|dfrac|sqrt|times|cdot|pi|theta|lambda|sin|cos|tan|text|mathrm)\b|\^\{")
UNBALANCED_LATEX = "unbalanced_latex"
EMPTY_OPTION = "empty_option"
SAME_TEXT = "same_text_twice"
EQUAL_OPTIONS = "options_equal_in_value"
MIXED_UNITS = "option_without_unit"
NO_PATH = "distractor_without_path"
SAME_PATH = "same_path_twice"
KEY_IN_MAP = "key_in_distractor_map"
PATH_OF_NOTHING = "path_of_no_option"
CALCULATOR = "calculator_only_numbers"
WRONG_KEY = "key_is_not_the_value"
UNKNOWN_LATEX = "unknown_latex"
FALSE_STEP = "false_step"
ELSEWHERE = "solution_of_another_option"
NOT_REACHED = "solution_without_the_key"
IMPOSSIBLE = "impossible_value"
NO_FIGURE = "figure_missing"
NONE_RIGHT = "no_option_has_the_value"
FORM_HOSTILE = "form_hostile"
FORM_FAILED = "form_without_value"
MOST_INTEGER_DIGITS = 5  # significant digits that a candidate can handle without a calculator
MOST_DECIMAL_DIGITS = 4  # the same for a number with decimals
_LEAST_PATH_WORDS = 3  # fewer words cannot name a mistake
_NUMBER = re.compile(r"(?<![\w.])(\d{1,3}(?:(?:,|\{,\}|\\,)\d{3})+|\d+)(\.\d+)?")
_HOSTILE = re.compile(
    r"__|\b(?:import|open|eval|exec|compile|getattr|setattr|globals|locals|vars|input|lambda|while|for|os|sys|subprocess"
    r"|socket|builtins|breakpoint)\b|[\[{'\"]|\.\s*[A-Za-z_]"
)
_BEYOND_LIMITS = frozenset(
    (FormFailure.TIMEOUT, FormFailure.OUT_OF_MEMORY, FormFailure.CRASHED, FormFailure.TOO_LARGE)
)
_STEM = {
    "negative_wording": r"(?i:\b(?:which|what)\b[^.?]*\b(?:not|never|false|incorrect|untrue|cannot|least likely)\b|\bexcept\b)|\bNOT\b",
    "fill_in_the_blank": r"_{2,}|\.{4,}",
}
_OPTIONS = {  # an option counts for the first criterion that it meets
    "none_of_the_above": r"(?i)\bnone of (?:the above|these|them)\b",
    "all_of_the_above": r"(?i)\ball of (?:the above|these|them)\b",
    "complex_or_k_type": r"\A(?:both )?\(?(?:[IVX]+|[A-H])\)?(?:(?:, ?| and | & )+\(?(?:[IVX]+|[A-H])\)?)+(?: only)?\.?\Z",
    "absolute_terms": r"(?i)\b(?:always|never|all|every|only|completely|entirely|invariably|absolutely|impossible)\b",
    "vague_terms": r"(?i)\b(?:sometimes|usually|often|frequently|occasionally|generally|typically|mostly|many|several|may|might)\b",
}
_ASKS = re.compile(
    r"\?|\b(?:what|which|who|when|where|how|why|find|calculate|determine|estimate|evaluate|simplify|solve|give|state|choose|select|express)\b",
    re.IGNORECASE,
)
_TRUTH = re.compile(r"(?:both |neither )?(?:true|false|yes|no)\W*", re.IGNORECASE)
_TOKEN = re.compile(r"\\[A-Za-z]+|[A-Za-z]+|\d+(?:\.\d+)?")
_NEARLY = 1e-6  # tolerance for rounding of floating-point numbers
_LONGER, _MUCH = 1.5, 12  # factor and characters by which a key that stands out is longer than all others


def latex_fault(text: str) -> str:
    """The first fault: something unbalanced, a formula that breaks off, or a bare command; empty if none. `%` begins no comment here."""
    typed = _escaped(text)
    fault = next(iter(structure_faults(typed)), "")
    if fault:
        return f"{fault} (money is written \\$)" if fault.startswith("a $") else fault
    parts = _MATH_MARKS.sub("$", _ESCAPED.sub("  ", typed)).split("$")
    if any(part.count("{") != part.count("}") for part in parts[1::2]):
        return "braces that are opened in one formula and closed in another"
    if any(_OPEN_END.search(part) for part in parts[1::2]):
        return "a formula that breaks off"
    bare = _BARE.search(" ".join(parts[::2])) if len(parts) > 1 else None
    return f"{bare.group()} outside of the $ signs" if bare else ""


@dataclass(frozen=True)
class _Case:
    package: QuestionPackage
    values: computed_key.OptionValues
    proving: computed_key.Proving
    sandbox: Sandbox


def examine(package: QuestionPackage, sandbox: Sandbox | None = None) -> Examination:
    """The faults that code finds in a question, and the proof of its key. No content of a question raises."""
    box, package = sandbox or sandboxes.shared(), _typed(package)
    values = computed_key.option_values(package.question.options, box)
    proving = computed_key.weakened(
        computed_key.prove(package.question, package.check, values, box), package, box
    )
    case = _Case(package, values, proving, box)
    faults = tuple(fault for check in _CHECKS for fault in check(case))
    return Examination(faults=faults, proof=case.proving.proof)


def _typed(package: QuestionPackage) -> QuestionPackage:
    """The package with `%` escaped in stem, options and steps, because LaTeX takes a bare `%` for a comment."""
    question, solution = package.question, package.solution
    options = {letter: _escaped(text) for letter, text in question.options.items()}
    asked = question.model_copy(update={"stem": _escaped(question.stem), "options": options})
    typed = solution.model_copy(update={"reasoning": _escaped(solution.reasoning)})
    return package.model_copy(update={"question": asked, "solution": typed})


def _escaped(text: str) -> str:
    return _PER_CENT.sub(r"\\%", text)


def _fixable(name: str, detail: str) -> Fault:
    return Fault(name=name, severity=Severity.FIXABLE, detail=detail)


def _asked(question: ExamQuestion) -> dict[str, str]:
    """The texts that a candidate is shown, by their places."""
    options = {f"option {letter}": text for letter, text in sorted(question.options.items())}
    return {"the stem": question.stem, **options}


def _latex(case: _Case) -> Iterator[Fault]:
    shown, solution = _asked(case.package.question), case.package.solution
    texts = shown | {"the solution": solution.reasoning, "the key insight": solution.key_insight}
    texts |= {f"the path of {letter}": text for letter, text in sorted(case.package.distractor_map.items())}
    for place, text in texts.items():
        if fault := latex_fault(text):
            yield _fixable(UNBALANCED_LATEX, f"{place}: {fault}")
        elif place in shown:
            unset = [one.text for one in split(text) if one.kind in FORMULAS and mathml(one.text) is None]
            yield from (_fixable(UNKNOWN_LATEX, f"{place}: {one} cannot be typeset") for one in unset)


def _texts(case: _Case) -> Iterator[Fault]:
    seen: dict[str, str] = {}
    for letter, text in sorted(case.package.question.options.items()):
        plain = re.sub(r"\s+|\\[,;:! ]", "", text.strip().strip("$"))
        if not re.search(r"\w", plain):
            yield _fixable(EMPTY_OPTION, f"option {letter} says nothing: {text!r}")
        elif plain in seen:
            yield _fixable(SAME_TEXT, f"options {seen[plain]} and {letter} are the same text")
        seen.setdefault(plain, letter)


def _equal_values(case: _Case) -> Iterator[Fault]:
    options = case.package.question.options
    for (first, one), (second, other) in combinations(case.values.values.items(), 2):
        if equal(one, other):
            why = f"{options[first]} and {options[second]} are the same value"
            yield _fixable(EQUAL_OPTIONS, f"options {first} and {second} are equal: {why}")


def _units(case: _Case) -> Iterator[Fault]:
    values = case.values.values
    bare = [letter for letter, one in values.items() if one.unit == ONE and one.exact != "0"]
    if bare and any(value.unit != ONE for value in values.values()):
        yield _fixable(MIXED_UNITS, f"other options have a unit; {', '.join(bare)} has none")


def _paths(case: _Case) -> Iterator[Fault]:
    question, paths = case.package.question, case.package.distractor_map
    wrong = sorted(set(question.options) - {question.correct_option})
    for letter in wrong:
        if len(re.findall(r"\w+", paths.get(letter, ""))) < _LEAST_PATH_WORDS:
            yield _fixable(NO_PATH, f"no mistake in reasoning is named that leads to option {letter}")
    if question.correct_option in paths:
        yield _fixable(KEY_IN_MAP, f"{question.correct_option} is the key, and has a path as a wrong option")
    for letter in sorted(set(paths) - set(question.options)):
        yield _fixable(PATH_OF_NOTHING, f"there is no option {letter}")
    seen: dict[str, str] = {}
    for letter in wrong:
        plain = " ".join(paths.get(letter, "").lower().split())
        if plain and plain in seen:
            yield _fixable(SAME_PATH, f"{seen[plain]} and {letter} are said to come from the same mistake")
        seen.setdefault(plain, letter)


def _numbers(case: _Case) -> Iterator[Fault]:
    question = case.package.question
    for place, text in _asked(question).items():
        for whole, decimals in _NUMBER.findall(text):
            digits = re.sub(r"\D", "", whole + decimals).strip("0")
            if len(digits) > (MOST_DECIMAL_DIGITS if decimals else MOST_INTEGER_DIGITS):
                yield _fixable(CALCULATOR, f"{place} has the number {whole}{decimals}; choose clean numbers")
    key = question.options[question.correct_option]
    if case.proving.rounded and not computed_key.ROUNDED.search(f"{question.stem} {key}"):
        yield _fixable(
            CALCULATOR,
            f"the exact value is {case.proving.proof.value}, but the key is a rounded decimal; give exact options",
        )


def _key(case: _Case) -> Iterator[Fault]:
    proof = case.proving.proof
    if proof.status is not ProofStatus.REFUTED:
        return
    name = {0: NONE_RIGHT, 1: WRONG_KEY}.get(len(proof.matching), computed_key.SEVERAL_RIGHT)
    yield _fixable(name, proof.detail)


_LETTER = r"\(?(?P<letter>[A-H])\)?"
_OPTION_NAMED = re.compile(  # at the end of a solution
    rf"(?i:\b(?:option|choice|choose|answer:?)\s+){_LETTER}\s*[.!]?\s*\Z|(?<!\$ )(?<!\d )\b{_LETTER.replace('letter', 'first')}\s+(?i:is\s+(?:the\s+)?(?:right|correct)\b)[^.]{{0,20}}\.?\s*\Z"
)
_LETTER_NAMED = re.compile(rf"(?i:\b(?:so|hence|thus|therefore|giving|which is|is))\s+{_LETTER}\s*[.!]?\s*\Z")


def _steps(case: _Case) -> Iterator[Fault]:
    """Faults of the solution: false equalities, an end at another option, and a boxed value that is not the key's."""
    question, text = case.package.question, case.package.solution.reasoning
    for fault in equalities.false_equalities(text):
        yield _fixable(FALSE_STEP, f"the solution: {fault}")
    named = [letter.upper() for one in named_options(text) for letter in one]
    named += _named_at_the_end(question, text)
    if named and named[-1] != question.correct_option and named[-1] in question.options:
        yield _fixable(
            ELSEWHERE, f"the solution ends at {named[-1]}, not at the key {question.correct_option}"
        )
    values = {
        letter: value for letter, text in question.options.items() if (value := _value(text)) is not None
    }
    key, last = values.pop(question.correct_option, None), equalities.ends_at(text)
    steps = equalities.reached(text)
    if key is None or last is None or any(_reaches(step, key) for step in steps):
        return
    other = next((letter for letter, one in values.items() if equalities.same_value(last, one)), None)
    if other is not None:
        yield _fixable(ELSEWHERE, f"the solution ends at {last.text}, which is option {other}, not the key")
    elif boxed_answers(text):
        yield _fixable(NOT_REACHED, f"the solution ends at {last.text}, which is not the key")


def _named_at_the_end(question: ExamQuestion, solution: str) -> list[str]:
    """The letter of the option that the last words name. `so B` names no option if the question uses B as a name."""
    named, bare = _OPTION_NAMED.search(solution), _LETTER_NAMED.search(solution)
    if named or not bare:
        return [named["letter"] or named["first"]] if named else []
    thing = rf"(?<![A-Za-z\\]){bare['letter']}(?![A-Za-z]|\s+[a-z])"
    texts = (question.stem, *question.options.values())
    return [] if any(re.search(thing, text) for text in texts) else [bare["letter"]]


def _reaches(one: equalities.Value, key: equalities.Value) -> bool:
    """Whether a step has the value of the key. A factor such as 1.44 reaches the change of 44 %."""
    growth = key.text.endswith("%") and not one.united and abs(abs(one.plain - 1) - key.plain / 100) < _NEARLY
    return growth or equalities.same_value(one, key, about=True)


def _value(option: str) -> equalities.Value | None:
    return next(
        iter(equalities.reached(f"$={option.strip().strip('$')}$")), None
    ) or equalities.value_of_side(option.strip().strip("$"))


def _content(case: _Case) -> Iterator[Fault]:
    """Values that are impossible, options that are no answers, and a figure that is not there."""
    question = case.package.question
    for place, text in (("the stem", question.stem), ("the solution", case.package.solution.reasoning)):
        yield from (
            _fixable(IMPOSSIBLE, f"{place}: {fault}") for fault in question_faults.impossible_values(text)
        )
    for fault in question_faults.option_faults(
        question.stem, {**question.options}, frozenset((question.correct_option,))
    ):
        yield _fixable(computed_key.POOR_OPTION, fault)
    for fault in question_faults.without_figure(question.stem):
        yield _fixable(NO_FIGURE, fault)


def _form(case: _Case) -> Iterator[Fault]:
    check = case.package.check
    if check is None:
        return
    if case.proving.failure is not None:
        yield _failed(case.proving.failure, [check.expression, *check.givens.values()])
    else:
        yield from (
            _fixable(*found)
            for found in computed_key.form_faults(case.package, case.proving, case.values, case.sandbox)
        )


def _failed(failure: FormError, texts: list[str]) -> Fault:
    detail = f"the checkable form has no value: {failure}"
    refused = failure.failure is FormFailure.REFUSED
    if failure.failure in _BEYOND_LIMITS or (refused and any(_HOSTILE.search(text) for text in texts)):
        return Fault(name=FORM_HOSTILE, severity=Severity.STRUCTURAL, detail=detail)
    return _fixable(FORM_FAILED, detail)


_CHECKS: tuple[Callable[[_Case], Iterator[Fault]], ...] = (
    _form, _key, _equal_values, _texts, _units, _paths, _latex, _numbers, _steps, _content,
)  # fmt: skip


def flaws_of(package: QuestionPackage, style: StyleReport | None = None) -> dict[str, str]:
    """The item-writing flaws of a question, each with a detail, by criterion; `style` adds the flaws that the judge found."""
    asked = package.question
    stem = " ".join(one.text for one in split(asked.stem) if one.kind == "prose")
    options = {one: " ".join(without_layout(asked.options[one]).split()) for one in sorted(asked.options)}
    key, texts = options[asked.correct_option], dict(options)
    others = [text for one, text in options.items() if one != asked.correct_option]
    found: dict[str, str] = {}
    for name, pattern in _STEM.items():
        if phrase := re.search(pattern, stem):
            found[name] = f"the stem says '{phrase.group()}'"
    for name, pattern in _OPTIONS.items():
        if meet := [one for one, text in texts.items() if re.search(pattern, text)]:
            found[name] = f"option {', '.join(meet)}"
            texts = {one: text for one, text in texts.items() if one not in meet}
    for name, detail in _compared(stem, key, others):
        found.setdefault(name, detail)
    if _disordered([*asked.options.values()]):
        found["lost_sequence"] = "the numbers of the options are in no order"
    if same := next(question_faults.equal_options({**asked.options}), ""):
        found["more_than_one_correct"] = same
    return found | {one.criterion: one.detail for one in (style.flaws if style is not None else ())}


def _compared(stem: str, key: str, others: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Flaws of the stem and the options together."""
    if not _ASKS.search(stem):
        yield "unfocused_stem", "the stem asks nothing"
    if all(map(_TRUTH.fullmatch, (key, *others))):
        yield "true_or_false", "the options only say true or false"
    longest = max(map(len, others))
    if len(key) > max(longest * _LONGER, longest + _MUCH):
        yield (
            "longest_option_correct",
            f"the right option has {len(key)} characters, the others at most {longest}",
        )
    for word in re.findall(r"[a-z]{5,}", key.lower()):
        if re.search(rf"\b{word}\b", stem.lower()) and word not in " ".join(others).lower():
            yield "word_repeats", f"only the right option repeats '{word}' of the stem"
    article = re.search(r"\b(an?)\W*\Z", stem)
    for text in others if article else ():
        if (text[:1].lower() in "aeiou") is not (article is not None and article.group(1) == "an"):
            yield "grammatical_cues", f"the article at the end of the stem does not fit {text}"
    parts = {text: {*_TOKEN.findall(text)} for text in (key, *others)}
    shared = Counter(one for some in parts.values() for one in some)
    scores = {text: sum(shared[one] - 1 for one in parts[text] if shared[one] < len(parts)) for text in parts}
    if len(parts) > len(others) and scores[key] >= max(len(others), *(scores[other] + 2 for other in others)):
        yield "convergence_cues", "the right option shares most parts with the others"


def _disordered(options: Sequence[str]) -> bool:
    """Whether all options are numbers that neither rise nor fall."""
    values = [one for one in map(known_value, options) if one is not None and len({*one.numbers}) == 1]
    numbers = [float(value.numbers[0]) * float(value.unit.factor) for value in values if value.numbers[0]]
    rising = {first < second for first, second in pairwise(numbers) if first != second}
    return len(numbers) == len(options) and len(rising) > 1
