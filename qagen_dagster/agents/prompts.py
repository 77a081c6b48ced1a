"""Reads and fills the prompt files `prompts/<product>/*.md`.

A file holds a system part and a user part, divided by a line `---user---`, or only an addition to the user part of another.
Placeholders are `${name}`. A missing or unused value is an error, so a prompt cannot silently lose its source text.
"""

from __future__ import annotations

import string
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from qagen_dagster.errors import ConfigError
from qagen_dagster.records.ids import digest

FOLDER = Path(__file__).resolve().parent / "prompts"
DIVIDER = "\n---user---\n"
# Names are recorded in lineage and enter fingerprints: those of the files in these folders begin with a prefix.
_PREFIXES = {"answering": "answer_", "exams": "exam_", "problems": "problem_", "questions/batch": "batch_"}


@dataclass(frozen=True)
class Prompt:
    """A prompt file, read once."""

    name: str
    system: str
    user: str

    @property
    def hash(self) -> str:
        """Sixteen hexadecimal digits of its content: part of lineage and of fingerprints."""
        return digest(self.system, self.user)[:16]

    def before(self, other: Prompt) -> Prompt:
        """`other` with the user part of this one in front of its own."""
        return Prompt(other.name, other.system, f"{self.user}\n\n{other.user}")

    def fill(self, values: dict[str, str]) -> tuple[str, str]:
        """System and user text. Raises ConfigError for a missing or unused value."""
        wanted = _placeholders(self.system) | _placeholders(self.user)
        if wanted != set(values):
            missing, unused = sorted(wanted - set(values)), sorted(set(values) - wanted)
            raise ConfigError(f"prompt {self.name}: missing values {missing}, unused values {unused}")
        return string.Template(self.system).substitute(values), string.Template(self.user).substitute(values)


@cache
def load_prompt(path: str) -> Prompt:
    """Read `prompts/<path>.md`. Raises ConfigError when a part is missing."""
    name = prompt_name(path)
    system, divider, user = _read(path).partition(DIVIDER)
    if not divider or not system.strip() or not user.strip():
        raise ConfigError(f"prompt {name} needs a system and a user part, divided by {DIVIDER.strip()!r}")
    return Prompt(name, system.strip(), user.strip())


@cache
def load_addition(path: str) -> Prompt:
    """Read `prompts/<path>.md`, which has only a user part: see `Prompt.before`. Raises ConfigError when it is empty."""
    name, text = prompt_name(path), _read(path).strip()
    if not text:
        raise ConfigError(f"prompt {name} is empty")
    return Prompt(name, "", text)


def prompt_name(path: str) -> str:
    """The name by which records and fingerprints know the file `prompts/<path>.md`."""
    folder, _, stem = path.rpartition("/")
    return _PREFIXES.get(folder, "") + stem


def _read(path: str) -> str:
    return (FOLDER / f"{path}.md").read_text(encoding="utf-8")


def _placeholders(text: str) -> set[str]:
    return set(string.Template(text).get_identifiers())
