"""The correctness properties of the physics question pipeline, as pure checks.

Properties 2, 13, 14 and 15 concern the pipeline: the prompts, the selected items, the written files. Each other property concerns one
output. `scan_prompt` of the agents keeps property 2. A function `..._breaches` returns the breaches of the property in its docstring.
The rules themselves are in `item_faults.py`, `faithfulness.py` and `latex/`.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from qagen_dagster.agents.problems import prompts
from qagen_dagster.errors import ConfigError
from qagen_dagster.latex.answer_key import keyed_faults, uncheckable
from qagen_dagster.latex.comparison import (
    boxed_answers,
    final_answer,
    listed,
    named_options,
    numbers_of,
    same_answer,
    same_numbers,
    same_words,
    words_of,
)
from qagen_dagster.latex.structure import (
    environments,
    has_environment,
    options_of,
    question_of,
    solution_of,
    statement_of,
    structure_faults,
    tikz_pictures,
)
from qagen_dagster.loop.problems import faithfulness, item_faults
from qagen_dagster.mathematics.equality import known_value
from qagen_dagster.records.problems.submissions import (
    AlternateResult,
    Breach,
    ClassificationResult,
    Format,
    IdeaResult,
    Problem,
    QuestionKind,
    VariantKind,
)

_SENTENCE = re.compile(r"[.?!](?=\s|$)|\n\s*\n")
_LEAST_WORDS = 4  # words of a sentence that is looked for in sources; a shorter one may occur by chance
_COMMA = re.compile(r"(?<!\\)[,;](?:\\[ ,;]\s*|\s+)")
_HEADED = re.compile(r"^\W*(?:problem|question|part)\s*\d", re.IGNORECASE | re.MULTILINE)
_ASIDE = re.compile(r"(?m)^\s*(?:-{3,}|\\hrule\b.*|\\bigskip\b.*)\s*$")


def select_range(problems: Sequence[Problem], wanted: tuple[int, int] | None) -> tuple[Problem, ...]:
    """Property 13: select the problems with an index from start to end, both included, or all problems if there is no range.

    Raises ConfigError for an invalid range or a range without a problem.
    """
    if wanted is None:
        return tuple(problems)
    start, end = wanted
    if start < 1 or end < start:
        raise ConfigError(f"a range is START END with 1 <= START <= END, not {start} {end}")
    chosen = tuple(problem for problem in problems if start <= problem.index <= end)
    if not chosen:
        last = max((problem.index for problem in problems), default=0)
        raise ConfigError(f"there is no item {start} to {end}: the last one is {last}")
    return chosen


def output_breaches(path: str, expected: bytes, found: bytes | None) -> tuple[Breach, ...]:
    """Property 14: every requested file is written."""
    if found == expected:
        return ()
    return (
        Breach(property=14, detail=f"{path} {'is missing' if found is None else 'holds something else'}"),
    )


def problem_prompt_hashes() -> dict[str, str]:
    """Property 15: every role and kind has a prompt with a system and a user part. Returns the hashes of the prompts by name.

    Raises ConfigError, which names the file that lacks a part.
    """
    return {prompt.name: prompt.hash for prompt in prompts()}


def scan_breaches(
    latex: str, kind: QuestionKind | None, *, strict: bool = True, source: str = ""
) -> tuple[Breach, ...]:
    r"""Property 3: an item reaches from `\item` to `\end{solution}`, and has a tasks environment if its kind needs one.

    The marked option, the option that the solution names, and the boxed answer must agree. Without a kind, a tasks environment is
    optional, with any number of right options. If `strict`, kinds that need no tasks environment must not have one, and the values are
    checked and compared with the values in `source`, the TeX that was scanned.
    """
    faults = item_faults.whole_item(latex)
    tasks = has_environment(latex, "tasks")
    if kind is not None and kind.is_mcq and not tasks:
        faults.append(f"a {kind.value} question has its options in a tasks environment")
    if kind is not None and not kind.is_mcq and tasks and strict:
        faults.append(f"a {kind.value} question has no tasks environment")
    if kind is not None and kind.is_mcq and tasks:
        faults += item_faults.right_ones(latex, one=kind is QuestionKind.MCQ_SC)
    if tasks:
        faults += item_faults.other_key(latex)
    if strict:
        faults += _scan_faults(latex, kind, source)
    return _breaches(3, faults)


def _scan_faults(latex: str, kind: QuestionKind | None, source: str) -> Iterator[str]:
    yield from item_faults.value_faults(latex, source, drawn_later=not source)
    yield from item_faults.unlike_options(latex)
    if source:
        yield from faithfulness.text_kept(source, latex)
    yield from keyed_faults(kind or "", latex)


def diagram_breaches(
    classification: ClassificationResult | None, tikz_code: str | None, text: str = ""
) -> tuple[Breach, ...]:
    """Property 4: a problem with a diagram has TikZ code with a tikzpicture. If `text` is given, the labels have only amounts of `text`.

    An unclassified problem counts as one with a diagram.
    """
    if classification is not None and not classification.has_diagram:
        return ()
    if not (tikz_code or "").strip():
        return _breaches(4, ["the TikZ code is empty"])
    pictures = tikz_pictures(tikz_code or "")
    faults = [] if pictures else ["the TikZ code holds no complete tikzpicture environment"]
    if pictures and all(item_faults.undrawn(picture) for picture in pictures):
        faults.append("the tikzpicture draws nothing")
    faults += [
        fault for one in pictures for fault in (*item_faults.too_large(one), *item_faults.unended_path(one))
    ]
    if text:
        faults += item_faults.figure_faults("\n".join(pictures), text)
    return _breaches(
        4, [*faults, *item_faults.own_document(tikz_code or ""), *structure_faults(tikz_code or "")]
    )


def idea_breaches(ideas: IdeaResult) -> tuple[Breach, ...]:
    """Property 5: there are concepts and techniques."""
    lists = {"concepts": ideas.concepts, "techniques": ideas.techniques}
    return _breaches(5, [f"{name} is empty" for name, texts in lists.items() if not "".join(texts).strip()])


def alternate_breaches(
    item: str, alternate: AlternateResult, earlier: Sequence[str] = ()
) -> tuple[Breach, ...]:
    """Property 6: a solution differs from the original and from the `earlier` solutions, and reaches the original's answer."""
    text = alternate.solution.strip()
    if not (text.startswith(r"\begin{solution}") and text.endswith(r"\end{solution}")):
        return _breaches(6, [r"the solution must run from \begin{solution} to \end{solution}"])
    faults = [
        *structure_faults(text),
        *item_faults.own_document(text),
        *item_faults.stepless(solution_of(text)),
    ]
    if len(environments(text, "solution")) > 1:
        faults.append("it must be one solution environment")
    if same_words(text, solution_of(item)) and same_numbers(text, solution_of(item)):
        faults.append("it is the original solution, word for word")
    faults += item_faults.repeated(text, earlier)
    if not faults:
        faults += faithfulness.same_method(solution_of(text), [solution_of(item), *map(solution_of, earlier)])
    known = set(item_faults.solution_faults(solution_of(item)))
    faults += [fault for fault in item_faults.solution_faults(solution_of(text)) if fault not in known]
    faults += _other_letters(solution_of(item), text)
    if not any(item_faults.other_key(item)):  # otherwise the fault is in the item, not in this solution
        faults += item_faults.other_key(f"\\item {statement_of(item)}\n{text}")
    faults += _other_answers(item, alternate)
    return _breaches(6, faults)


def variant_breaches(
    kind: VariantKind, source: str, variant: str, earlier: Sequence[str] = ()
) -> tuple[Breach, ...]:
    """Properties 7, 8 and 9: a variant changes only what its kind may change, differs from the `earlier` variants of its kind,
    and has a complete solution.
    """
    again = item_faults.repeated(statement_of(variant), [statement_of(one) for one in earlier])
    complete = _complete(kind, source, variant)
    match kind:
        case VariantKind.NUMERICAL:
            return (*_breaches(7, (*_numerical(source, variant), *again)), *_breaches(9, complete))
        case VariantKind.CONTEXT:
            return (*_breaches(8, (*_context(source, variant), *again)), *_breaches(9, complete))
        case VariantKind.CALCULUS:
            return _breaches(9, (*complete, *again, *faithfulness.without_calculus(variant)))
        case _:
            return _breaches(9, (*complete, *again))


def combined_breaches(
    sources: Sequence[str], variant: str, earlier: Sequence[str] = ()
) -> tuple[Breach, ...]:
    """Property 10: a combined problem is one coherent problem with one solution, and differs from the `earlier` combined problems."""
    faults = item_faults.whole_item(variant)
    if has_environment(variant, "tasks"):
        faults += [
            *item_faults.right_ones(variant, one=False),
            *item_faults.unlike_options(variant),
            *item_faults.other_key(variant),
        ]
    faults += item_faults.repeated(statement_of(variant), [statement_of(one) for one in earlier])
    statement = statement_of(variant)
    words = _joined(statement)
    for number, source in enumerate(sources, 1):
        own = _joined(statement_of(source))
        if len(own.split()) >= item_faults.LEAST_WORDS and own in words:
            faults.append(f"problem {number} stands in it word for word")
    if len(_HEADED.findall(statement)) > 1 or _ASIDE.search(statement):
        faults.append("it is divided into several problems")
    pieces = [one for one in map(_joined, _SENTENCE.split(statement)) if len(one.split()) >= _LEAST_WORDS]
    pool = [_joined(statement_of(source)) for source in sources]
    if len(pieces) > 1 and all(any(piece in one for one in pool) for piece in pieces):
        faults.append("every sentence is taken from a source")
    faults += [
        *item_faults.value_faults(variant, "\n".join(sources)),
        *faithfulness.only_joined(sources, variant),
    ]
    return _breaches(10, [*faults, *item_faults.stepless(solution_of(variant))])


def conversion_breaches(source: str, target: Format, converted: str) -> tuple[Breach, ...]:
    """Property 11: a conversion has the structure of the target format, and keeps the answer of its source."""
    faults = item_faults.whole_item(converted)
    tasks = has_environment(converted, "tasks")
    if target.is_mcq and not tasks:
        faults.append(f"{target.value} needs its options in a tasks environment")
    if target.is_mcq and tasks:
        faults += item_faults.right_ones(converted, one=target is Format.MCQ_SC)
        faults += [*item_faults.unlike_options(converted), *item_faults.other_key(converted)]
    if not target.is_mcq and tasks:
        faults.append(f"{target.value} has no tasks environment")
    if target is Format.INTEGER:
        faults += item_faults.asks_number(converted)
    if target.is_keyed:
        faults += [*uncheckable(target, converted), *keyed_faults(target, converted)]
    else:
        faults += [*item_faults.which_of_nothing(converted), *faithfulness.leaked_answer(source, converted)]
    faults += [*item_faults.value_faults(converted, source), *_figures_kept(source, converted)]
    faults += [
        *faithfulness.givens_kept(source, converted, listed=target.is_keyed),
        *faithfulness.stale_givens(source, converted),
        *faithfulness.conditions_kept(source, converted),
    ]
    return _breaches(11, [*faults, *faithfulness.answer_kept(source, target, converted)])


def _breaches(number: int, faults: Iterable[str]) -> tuple[Breach, ...]:
    return tuple(Breach(property=number, detail=one) for one in dict.fromkeys(faults))


def _numerical(source: str, variant: str) -> Iterator[str]:
    before, after = statement_of(source), statement_of(variant)
    asked = question_of(source)
    same = same_numbers(asked, question_of(variant)) if numbers_of(asked) else same_numbers(before, after)
    if same and _drawing(source) == _drawing(variant):
        yield "no number of the question differs from the source"
    if not same_words(before, after):
        yield f"words of the statement differ from the source: {_difference(before, after)}"


def _drawing(item: str) -> list[list[str]]:
    """The drawings of an item's question, split at white space. They are compared because a value may occur only in a drawing."""
    return [picture.split() for picture in tikz_pictures(question_of(item))]


def _context(source: str, variant: str) -> Iterator[str]:
    before, after = statement_of(source), statement_of(variant)
    added = Counter(numbers_of(after)) - Counter(numbers_of(before))
    added -= Counter(set(faithfulness.named_constants(before, solution_of(source), after)))
    lost = Counter(numbers_of(before)) - Counter(numbers_of(after))
    if added or lost:
        faults = [f"{listed(lost.elements())} of the source is not there"] if lost else []
        faults += [f"{listed(added.elements())} is not in the source"] if added else []
        yield f"the numbers of the statement and its options must be those of the source: {', and '.join(faults)}"
    else:
        yield from faithfulness.given_faults(before, after)
    yield from faithfulness.same_scene(source, variant)
    if same_words(before, after):
        yield "the scenario is the source's, word for word"
    old, new = item_faults.answer_of(source), item_faults.answer_of(variant)
    if old is not None and new is not None and same_answer(old, new) is False:
        yield f"the answer must stay {old}; here it is {new}"


def _complete(kind: VariantKind, source: str, variant: str) -> Iterator[str]:
    yield from item_faults.whole_item(variant)
    old, new = solution_of(source), solution_of(variant)
    yield from item_faults.stepless(new)
    yield from item_faults.value_faults(variant, source)
    yield from _figures_kept(source, variant)
    yield from faithfulness.leaked_answer(source, variant)
    if kind in (VariantKind.NUMERICAL, VariantKind.CONTEXT):
        yield from faithfulness.stale_givens(source, variant)
    if kind is not VariantKind.CONTEXT and same_words(old, new) and same_numbers(old, new):
        yield "the solution is the source's: work it out anew for the variant"
    elif kind is VariantKind.NUMERICAL and numbers_of(old) and same_numbers(old, new):
        yield "the solution still has the source's numbers: work it out anew"
    if has_environment(source, "tasks"):
        if not has_environment(variant, "tasks"):
            yield "the source has options in a tasks environment, the variant has none"
        else:
            yield from _options_kept(kind, source, variant)
    elif has_environment(variant, "tasks"):
        yield "the source has no options, the variant has a tasks environment"


def _figures_kept(source: str, result: str) -> Iterator[str]:
    """Faults of drawings: a new one is too large for a page or has an unended path, or a label has an amount that the statement lacks."""
    known = tikz_pictures(source)
    for picture in tikz_pictures(result):
        if picture not in known:
            yield from (*item_faults.too_large(picture), *item_faults.unended_path(picture))
    yield from item_faults.figure_faults(
        "\n".join(tikz_pictures(question_of(result))), statement_of(result), source
    )


def _options_kept(kind: VariantKind, source: str, variant: str) -> Iterator[str]:
    before, after = options_of(source), options_of(variant)
    yield from item_faults.right_ones(variant, one=sum(option.right for option in before) == 1)
    yield from item_faults.unlike_options(variant)
    yield from item_faults.other_key(variant)
    if kind in (VariantKind.NUMERICAL, VariantKind.CONTEXT) and len(before) != len(after):
        yield f"the source has {len(before)} options, the variant has {len(after)}"


def _other_answers(item: str, alternate: AlternateResult) -> Iterator[str]:
    """Faults: an alternate solution lacks the final answer or, with as many boxes as the original, one of its boxed answers in any order."""
    original, several = item_faults.answer_of(item), boxed_answers(solution_of(item))
    if original is None:
        return
    boxes, stated = boxed_answers(alternate.solution), alternate.final_answer
    if len(several) > 1:
        stated = _COMMA.split(stated)[-1]
        if len(boxes) == len(several):
            lost = [one for one in several if all(same_answer(one, other) is False for other in boxes)]
            yield from (f"none of its boxes holds the original's answer {one}" for one in lost)
    for name, answer in (("the solution", final_answer(alternate.solution)), ("final_answer", stated)):
        same = None if answer is None else same_answer(original, answer)
        if same is False:
            yield f"{name} reaches {answer}, but the original answer is {original}"
        elif same is None and name == "the solution" and known_value(original) is not None:
            yield f"the final answer {original} is not found in the solution: put it into \\boxed"


def _other_letters(original: str, alternate: str) -> Iterator[str]:
    old, new = named_options(original), named_options(alternate)
    if old and new and old[-1] != new[-1]:
        yield f"it ends at option {', '.join(sorted(new[-1]))}, the original at {', '.join(sorted(old[-1]))}"


def _joined(text: str) -> str:
    return " ".join(words_of(text)).casefold()


def _difference(source: str, variant: str) -> str:
    before, after = words_of(source), words_of(variant)
    for old, new in zip(before, after, strict=False):
        if old != new:
            return f"{old!r} became {new!r}"
    return f"{len(before)} words became {len(after)}"
