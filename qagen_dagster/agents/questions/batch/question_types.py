"""Reads the descriptions of question types in `question_types.md`. A scenario's options choose the types.

Each type has its meaning, an instruction, a pattern, and an example about the invented document of the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from qagen_dagster.agents.questions.validator import TypeRule
from qagen_dagster.errors import ConfigError
from qagen_dagster.records.corpus import QuestionType
from qagen_dagster.records.ids import digest

_FILE = Path(__file__).with_name("question_types.md")


@dataclass(frozen=True)
class Guide:
    """The description of one type."""

    means: str
    ask: str
    fails: str  # when a question is not of the type
    pattern: str
    example: str
    answer: str


@dataclass(frozen=True)
class Guides:
    """The whole file. `bad` are examples of unwanted questions; the first one is unwanted only if lookups are."""

    rules: str
    complexity: str
    document: str
    bad: tuple[str, ...]
    types: dict[QuestionType, Guide]
    hash: str


@cache
def guides() -> Guides:
    """Read the file. Raises ConfigError when a section or a line of a type is missing."""
    text = _FILE.read_text(encoding="utf-8")
    sections: dict[str, str] = {}
    for section in ("\n" + text).split("\n## ")[1:]:
        name, _, body = section.partition("\n")
        sections[name.strip()] = body.strip()
    try:
        return Guides(
            rules=sections["rules"],
            complexity=sections["complexity"],
            document=sections["document"],
            bad=tuple(sections["bad"].splitlines()),
            types={kind: _guide(sections[kind.value]) for kind in QuestionType},
            hash=digest(text)[:16],
        )
    except KeyError as error:
        raise ConfigError(f"there is no {error.args[0]}", file=_FILE) from None


def _guide(body: str) -> Guide:
    said = dict(line.split(": ", 1) for line in body.splitlines())
    return Guide(said["means"], said["ask"], said["not"], said["pattern"], said["example"], said["answer"])


def in_words(types: Sequence[QuestionType]) -> str:
    """The definition, instruction and pattern of each type, as text."""
    known = guides().types
    return "\n".join(
        f"{kind.value}: {known[kind].means}\n  Ask {known[kind].ask}\n  Pattern: {known[kind].pattern}"
        for kind in types
    )


def rule_of(kind: QuestionType) -> TypeRule:
    """The rule by which the validator judges a question of the type."""
    guide = guides().types[kind]
    return TypeRule(kind.value, guide.means, guide.ask, guide.fails)


def rules(types: Sequence[QuestionType]) -> str:
    """The rules for all questions; the rules on complexity only if a type asks for more than a lookup."""
    if not _complex(types):
        return guides().rules
    note = "Besides, for every type but factual:\n" if QuestionType.FACTUAL in types else ""
    return f"{guides().rules}\n{note}{guides().complexity}"


def examples(types: Sequence[QuestionType]) -> str:
    """Good examples of the types, then bad ones, about the invented document."""
    known = guides()
    good = [f"- {kind.value}: {known.types[kind].example} ({known.types[kind].answer})" for kind in types]
    bad = known.bad if QuestionType.FACTUAL not in types else known.bad[1:]
    return "\n".join((f'"{known.document}"', "Good, with their answers:", *good, "Bad:", *bad))


def _complex(types: Sequence[QuestionType]) -> bool:
    return any(kind is not QuestionType.FACTUAL for kind in types)
