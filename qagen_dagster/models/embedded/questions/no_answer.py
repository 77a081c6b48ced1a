"""Questions without an answer, made by rules from the questions that a document does answer.

unanswerable: a name that the document has, with a property that no line of it has. false_premise: a question of the document that names a
number, with another number than the document gives. underspecified: a question about a table cell without the name of its row.
"""

import re
from collections.abc import Iterator, Sequence

from qagen_dagster.models.embedded.conversation import Action, Conversation, Line, split_frame
from qagen_dagster.models.embedded.questions.candidate import ATTRIBUTES, Candidate, Context

_WANTED = re.compile(r"^- (unanswerable|false_premise|underspecified): (\d+)$", re.MULTILINE)
_NAME = re.compile(r"(?<=[a-z,] )(?:[A-Z][a-z]{2,} ){1,3}[A-Z][a-z]{2,}\b")
_NUMBER = re.compile(r"(?<![\d,.])\b\d{2,4}\b(?![,.]\d)")
_ROW = re.compile(r" (?:of|for) (?=the |[\"`])")
# Properties of things, persons and places that a reader may miss; the first that the document never mentions is asked for.
_PROPERTIES = ("phone number", "age", "address", "height")
_SHIFTED = (7, -9, 11, -13)  # between a stated number and that of a false premise


_Made = dict[str, object]  # a question as the tool takes it


def _made(
    kind: str,
    question: str,
    reason: str,
    answer: str,
    *quotes: tuple[str, int],
    readings: Sequence[_Made] = (),
) -> _Made:
    evidence = [{"quote": quote, "start_line": line} for quote, line in quotes]
    said = {"kind": kind, "question": question, "reason": reason, "answer": answer}
    return {**said, "evidence": evidence, "readings": list(readings)}


def submit(
    conversation: Conversation, lines: Sequence[Line], found: Sequence[Candidate], context: Context
) -> Action:
    """As many questions of each kind as the prompt asks for, without those that it names."""
    rules = {
        "unanswerable": _near_misses(lines, context),
        "false_premise": _other_numbers(found, lines),
        "underspecified": _without_rows(found),
    }
    made: list[_Made] = []
    for kind, count in _WANTED.findall(conversation.prompt):
        fresh = (one for one in rules[kind] if str(one["question"]) not in conversation.prompt)
        made += [one for one, _ in zip(fresh, range(int(count)), strict=False)]
    return Action("submit_no_answer", {"questions": made})


def _near_misses(lines: Sequence[Line], context: Context) -> Iterator[_Made]:
    text = "\n".join(line.text for line in lines)
    words = set(re.findall(r"\w+", text.lower()))
    missing = [one for one in _PROPERTIES if not words & {*one.split()} and one.split()[-1] in ATTRIBUTES]
    names: dict[str, Line] = {}
    for line in lines:
        for name in _NAME.findall(line.text):
            names.setdefault(name, line)
    for number, (name, line) in enumerate(names.items()):
        if missing and not any(word in name for word in (context.title, "According")):
            wanted = missing[number % len(missing)]
            question = f"{context.frame()}what is the {wanted} of {name}?"
            says = f"{name} is named, and no line gives a {wanted}"
            answer = f"The documents do not give the {wanted} of {name}."
            yield _made("unanswerable", question, f"{says}.", answer, (line.text.strip(), line.number))


def _other_numbers(found: Sequence[Candidate], lines: Sequence[Line]) -> Iterator[_Made]:
    """A question that names a number, such as a year, asked with a number that the document does not have."""
    text = "\n".join(line.text for line in lines)
    for one in found:
        frame, asked = split_frame(one.question)
        numbers = set(_NUMBER.findall(asked)) if one.family != "cell" else set[str]()
        quotes = (quote for quote in one.quotes if numbers and numbers <= {*_NUMBER.findall(quote.text)})
        quote = next(quotes, None)
        if len(numbers) != 1 or quote is None:
            continue
        (number,) = numbers
        others = (str(int(number) + by) for by in _SHIFTED if int(number) + by > 9)
        other = next((one for one in others if one not in text), "")
        if other:
            question = f"{frame}{asked.replace(number, other)}"
            reason, place = f"It takes {other} for granted.", (quote.text, quote.start_line)
            answer = f"It is {number}, not {other}: {' '.join(quote.text.split())}"
            yield _made("false_premise", question, reason, answer, place)


def _without_rows(found: Sequence[Candidate]) -> Iterator[_Made]:
    """The question for a column of a table without the name of a row, with two rows as readings."""
    columns: dict[str, list[Candidate]] = {}
    for one in found:
        if one.family == "cell":
            frame, asked = split_frame(one.question)
            columns.setdefault(frame + _ROW.split(asked)[0], []).append(one)
    for begun, cells in columns.items():
        first, second = cells[0], next((one for one in cells if one.answer != cells[0].answer), cells[0])
        if first is second:
            continue
        places = [(one.quotes[0].text, one.line) for one in (first, second)]
        readings: list[_Made] = [
            {"question": one.question, "answer": one.answer, "evidence": {"quote": text, "start_line": line}}
            for one, (text, line) in zip((first, second), places, strict=True)
        ]
        reason = "It does not say which row of the table is meant."
        answer = f"That depends on what is meant: {first.answer} or {second.answer}."
        yield _made("underspecified", f"{begun}?", reason, answer, *places, readings=readings)
