"""The export formats of item banks by name, and the exporters for GIFT, Moodle XML and Inspect AI.

GIFT and Moodle XML have texts in HTML, with formulas between \\( \\) for Moodle's filter. Readers of GIFT disagree about its escapes,
above all the backslash. So GIFT's special characters are written as numeric HTML characters, and `\\#` is the only escape used.
"""

import json
import re
from functools import partial

from qagen_dagster.publishing import markup
from qagen_dagster.publishing.exams.pages import html_preview, latex_exam
from qagen_dagster.publishing.exams.qti import canvas_package, qti_package
from qagen_dagster.publishing.exporter import Exporter
from qagen_dagster.records.exams.bank import ExamItem, ItemBank

_IMAGE = re.compile(r"<img [^>]*>")
_SPECIAL = {ord(char): f"&\\#{ord(char)};" for char in "\\~={}:#%[]"}


def gift_file(bank: ItemBank) -> dict[str, bytes]:
    blocks: list[str] = []
    for schema, items in bank.sections():
        steps = (" ".join(bank.name.split()), " ".join(schema))
        blocks.append("$CATEGORY: $course$/top/" + "/".join(step.replace("/", "//") for step in steps))
        blocks += [_gift_question(item) for item in items]
    return {"gift.txt": "".join(f"{block}\n\n" for block in blocks).encode()}


def _gift_question(item: ExamItem) -> str:
    options = [
        f"{'=' if item.is_key(letter) else '~'}{_html(item.question.options[letter])}"
        f"#{_html(item.feedback(letter))}"
        for letter in item.letters
    ]
    lines = (
        f"::{item.id}::[html]{_html(item.question.stem)} {{",
        *options,
        f"####{_html(item.solution_text)}",
        "}",
    )
    return "\n".join(lines)


def _html(text: str) -> str:
    """HTML on one line, in which no character has a meaning in GIFT. Figures become the word "[figure]"."""
    flat = _IMAGE.sub("[figure]", " ".join(markup.with_fences(text.strip()).split()))
    return flat.translate(_SPECIAL)


def moodle_file(bank: ItemBank) -> dict[str, bytes]:
    groups = ((" ".join(schema), map(_moodle_question, items)) for schema, items in bank.sections())
    return markup.moodle_file(bank.name, groups)


def _moodle_question(item: ExamItem) -> markup.Element:
    texts = (markup.paragraphs(text, markup.with_fences) for text in (item.question.stem, item.solution_text))
    question = markup.moodle_question("multichoice", item.id, *texts)
    markup.add_settings(
        question,
        defaultgrade="1",
        penalty="0.3333333",
        hidden="0",
        idnumber=item.id[: markup.LONGEST_ID],
        single="true",
        shuffleanswers="false",  # solutions may name options by letter
        answernumbering="ABCD",
    )
    for letter in item.letters:
        answer = markup.html_of(question, "answer", markup.with_fences(item.question.options[letter]))
        answer.set("fraction", "100" if item.is_key(letter) else "0")
        markup.html_of(answer, "feedback", markup.paragraphs(item.feedback(letter), markup.with_fences))
    markup.add_tags(question, item.schema_id, item.difficulty.value)
    return question


def inspect_samples(bank: ItemBank) -> dict[str, bytes]:
    """Samples with `id`, `input`, `choices`, `target` (the letter of the key), and `metadata`, which no model is shown."""
    samples = (
        {
            "id": item.id,
            "input": item.question.stem,
            "choices": [item.question.options[letter] for letter in item.letters],
            "target": item.question.correct_option,
            "metadata": {
                "exam": bank.exam,
                "schema_id": item.schema_id,
                "schema_title": item.schema_title,
                "difficulty": item.difficulty.value,
                "solution": item.solution_text,
                "distractor_map": dict(sorted(item.question_package.distractor_map.items())),
                "models": dict(sorted(item.models.items())),
            },
        }
        for item in bank.items
    )
    lines = [json.dumps(sample, ensure_ascii=False) for sample in samples]
    return {"inspect.jsonl": "".join(f"{line}\n" for line in lines).encode()}


BANK_EXPORTERS: tuple[Exporter[ItemBank], ...] = (
    Exporter("qti", qti_package),
    Exporter("qti3", partial(qti_package, version_3=True)),
    Exporter("canvas", canvas_package),
    Exporter("moodle", moodle_file),
    Exporter("gift", gift_file),
    Exporter("inspect", inspect_samples),
    Exporter("latex", latex_exam),
    Exporter("html", html_preview),
)
