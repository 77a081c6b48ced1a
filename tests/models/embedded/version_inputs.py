"""Fixed inputs of the embedded models, and a digest of what each group of models submits for them.

`python -m tests.models.embedded.version_inputs` records the digests of groups that have a new version.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from qagen_dagster.agents.answering import prompt as answerer_prompt
from qagen_dagster.models import spec as versions
from qagen_dagster.models.embedded.exams.roles import FAMILIES
from qagen_dagster.models.embedded.provider import EmbeddedProvider
from qagen_dagster.models.messages import Request, Text, ToolSpec, UserMessage
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.records.exams.submissions import sample_of
from qagen_dagster.records.ids import digest
from qagen_dagster.records.problems.submissions import Format
from qagen_dagster.toolkit.excerpt import Block, enclose, row
from tests.models.embedded.driver import Paper, all_questions, run

RECORD = Path(__file__).with_name("recorded_versions.json")
DIGITS = 3  # of numbers such as cosines, whose last digits depend on the machine

REPORT = """# The Lighthouse of Ravensby: a Survey

The lighthouse is a round tower that warns ships off the Carrow sands. Anneke Visser designed the tower in April 1871.
It burned whale oil for six years, and it has nine windows. The keepers were moved to Selby in 1902 because storms had
damaged the stairs. The Marine Survey Unit (MSU) measured the tower for three weeks. The lamp was lit by Daniel
Forsyth on 3 May 1873, although the lens was not yet complete [12]. The tower does not hold a bell.

## 1 Specifications

- **Height**: 41 m
- Weight of the lens: 1,240 kg
- Colour: white

## 2 Ships

Table 2. Ships that passed in 1903.

| Ship | Length (m) | Crew |
|---|---|---|
| Corona | 31.5 | 12 |
| Petrel | 28 | 9 |
| Wagtail | 44.2 | 17 |

The keepers store oil, wicks, rope, etc. Ida Holm painted the door in June 1904. The Petrel carries more sail than the Corona. A keeper must count every ship because the harbour sells the lists.

## 3 Options

| Option | Default | Meaning |
|--------|---------|---------|
| `--rate` | `45` | Flashes in an hour |
| `--quiet` | `false` | Whether the horn is silent |

1. Close the shutter of the lamp.
2. Fill the tank up to the red mark.
"""
LETTER = "MINUTES OF THE HARBOUR BOARD\nSELBY QUAY\n\nMartha Kellogg wrote the report in June 1911. The board has five members. The Selby Treaty was signed in London.\n"
LISTING = "1 visual\n- Table 2 | type: table | page: - | lines: 16-22 | caption: Ships that passed in 1903."
ASKED = (
    "who designed the tower in April 1871?", "when did Anneke Visser design the tower?", "what is the lighthouse?",
    "how many windows does the tower have?", "why were the keepers moved to Selby in 1902?", "what does MSU stand for?",
    'what is the length in m for the ship "Petrel"?', "what is the height?", "who never lit the lamp?",
    "who painted the door in June 1904?", "which enzyme breaks down fructose?", "what is the default value of the option `--rate`?",
    "how many keepers does the tower have?", "what happens if the horn is silent?",
)  # fmt: skip
COMPARED = (
    ("Anneke Visser", "the engineer Anneke Visser"), ("six years", "6 years"), ("41 m", "41 metres"), ("1,240 kg", "1240"),
    ("nine windows", "ten windows"), ("It does not hold a bell", "It holds a bell"), ("May 1873", "3 May 1873"),
    ("because storms had damaged the stairs", "storms damaged the stairs"), ("Petrel", "Corona"), ("yes", "no"),
    ("a tower built without stairs, whose windows let in the light of the evening sun", "a tower built without stairs"),
)  # fmt: skip
ACCEPTED = (
    "1. Who designed the tower at Ravensby? [answer: Anneke Visser]\n"
    '2. According to "Ships", what is the length of the ship "Petrel"? [answer: 28]\n'
    "3. Which ship has the largest crew? [answer: Wagtail]"
)
NEW = (
    ("Who was the designer of the tower at Ravensby?", "Anneke Visser"),
    ('According to "Ships", what is the length of the ship "Corona"?', "31.5"),
    ("Which ship has the smallest crew?", "Petrel"),
    ("When was the tower at Ravensby designed?", "1871"),
)
ITEMS = (
    r"""\item A sledge of mass $12\,\mathrm{kg}$ is pulled by a horizontal force of $30\,\mathrm{N}$ on smooth ice. What is its acceleration?
\begin{tasks}(2)
\task $0.4\,\mathrm{m\,s^{-2}}$
\task $2.5\,\mathrm{m\,s^{-2}}$ \ans
\task $18\,\mathrm{m\,s^{-2}}$
\task $360\,\mathrm{m\,s^{-2}}$
\end{tasks}
\begin{solution}
The ice is smooth, so the pull is the net force: $a = \frac{F}{m} = \frac{30}{12} = \boxed{2.5\,\mathrm{m\,s^{-2}}}$.
\end{solution}""",
    r"""\item A cart starts from rest with $3\,\mathrm{m\,s^{-2}}$ for $8\,\mathrm{s}$. Its mass is $90\,\mathrm{kg}$. Find its kinetic energy.
\begin{solution}
$v = a t = 3 \cdot 8 = 24\,\mathrm{m\,s^{-1}}$. With 24 we get $E = \frac{1}{2} m v^2 = \frac{1}{2} \cdot 90 \cdot 24^2 = \boxed{25920\,\mathrm{J}}$.
\end{solution}""",
    r"""\item A pendulum is $1.2\,\mathrm{m}$ long, $g = 9.8\,\mathrm{m/s^2}$. What is its period?
\begin{solution}
$T = 2\pi\sqrt{\frac{l}{g}} = 2\pi\sqrt{\frac{1.2}{9.8}} \approx 2.20\,\mathrm{s}$.
\end{solution}""",
    "\\item Why does the moon not fall?\n\\begin{solution}\nIt falls around the earth.\n\\end{solution}",
)


def submitted(model: str, prompt: str, *tools: str, sample: int = 0) -> object:
    """The tool calls of one turn."""
    provider = EmbeddedProvider(ModelSpec(provider="embedded", model=model))
    specs = tuple(ToolSpec(name=name, description="", parameters={}) for name in tools)
    messages = (UserMessage(content=(Text(text=prompt),)),)
    response = provider.read(provider.send(Request(system="", messages=messages, tools=specs, sample=sample)))
    return [(call.name, call.arguments) for call in response.message.tool_calls]


def questions() -> Iterator[object]:
    yield all_questions(Paper(REPORT))
    yield all_questions(Paper(REPORT, LISTING), mode="visual")
    yield all_questions(Paper(LETTER, name="1911-minutes.txt"))
    for question, answer in NEW:
        prompt = f"New question: {question}\nIts answer: {answer}\n\nAccepted questions:\n{ACCEPTED}"
        yield submitted("matcher", prompt, "submit_duplicate_verdict")


def answering() -> Iterator[object]:
    excerpt = enclose([row(line, text, 4_000) for line, text in enumerate(REPORT.split("\n"), 1)])
    for question in ASKED:
        framed = f'According to "The Lighthouse of Ravensby: a Survey", {question}'
        prompt = f"Document\ntitle: The Lighthouse of Ravensby\n\nQuestion:\n{framed}"
        yield run("reader", prompt, Paper(REPORT), "submit_answers")
        values = {
            "question": question,
            "document_title": enclose(["title: none"]),
            "excerpts": Block(f"Excerpt 1\n{excerpt}"),
        }
        yield submitted("reader", answerer_prompt().fill(values)[1], "submit_document_answer")
    for own, proposed in COMPARED:
        prompt = f"Question:\nwhat?\n\nProposed answer:\n{proposed}\n\nEvidence:\n{REPORT[:200]}\n\nYour own answer:\n{own}\n"
        yield submitted("reader", prompt, "submit_comparisons")
        marked = f"Given answer:\n{own}\n\nReference answer:\n{proposed}\n"
        yield submitted("reader", marked, "submit_mark")


def exams() -> Iterator[object]:
    for family in FAMILIES:
        part = f"Schema: {family.schema} (a title)\nDifficulty: {family.difficulty}\n"
        yield submitted("exam-designer", part, "submit_idea")
        for slot, attempt in ((1, 1), (2, 2)):
            made: Any = submitted(
                "exam-implementer", part, "submit_question", sample=sample_of(7, slot, attempt)
            )
            question = made[0][1]["question"]
            options = "\n".join(f"{letter}: {text}" for letter, text in question["options"].items())
            shown = f"<stem>\n{question['stem']}\n</stem>\n\n<options>\n{options}\n</options>"
            yield made
            yield submitted("exam-verifier", shown, "submit_solution")
            yield submitted("exam-verifier", shown, "submit_verdict")
            yield submitted("exam-style-judge", shown, "submit_style")


def problems() -> Iterator[object]:
    for item in ITEMS:
        statement, _, solution = item.partition("\\begin{solution}")
        yield submitted("problem-classifier", f"Input: tex\n\n<problem>\n{item}\n</problem>")
        yield submitted("problem-scanner", f"Input: tex\n\n<problem>\n% one\n{item}\n% two\n</problem>")
        ideas = f"<problem>\n{statement}\n</problem>\n<solution>\n{solution}\n</solution>"
        yield submitted("problem-ideas", ideas)
        for number in ("1", "2"):
            variant = f"Variant: numerical\nNumber: {number}\n\n<item>\n{item}\n</item>\n<earlier>\nnone\n</earlier>"
            yield submitted("problem-variant", variant)
        for target in (one for one in Format if not one.is_keyed):  # these are declined
            yield submitted("problem-converter", f"To: {target.value}\n\n<item>\n{item}\n</item>")
    for model in ("problem-tikz", "problem-alternate"):
        yield submitted(model, "Diagram: circuit")


GROUPS: dict[str, Callable[[], Iterator[object]]] = {
    "questions": questions,
    "answering": answering,
    "exams": exams,
    "problems": problems,
}


def current(group: str) -> dict[str, str]:
    """The version of a group in the code, and the digest of what its models submit."""
    outputs = json.dumps(_rounded(list(GROUPS[group]())), sort_keys=True, ensure_ascii=False)
    return {"version": getattr(versions, f"{group.upper()}_VERSION"), "outputs": digest(outputs)}


def recorded() -> dict[str, dict[str, str]]:
    return json.loads(RECORD.read_text("utf-8")) if RECORD.exists() else {}


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, DIGITS)
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}
    return [_rounded(one) for one in value] if isinstance(value, list | tuple) else value


def record() -> None:
    """Record the groups with a new version. Refuses a group whose outputs changed under the recorded version."""
    known = recorded()
    for group in GROUPS:
        found = current(group)
        before = known.get(group, found)
        if found["version"] == before["version"] and found != before:
            raise SystemExit(f"{group}: raise {group.upper()}_VERSION in models/spec.py first")
        known[group] = found
    RECORD.write_text(json.dumps(known, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    record()
