"""Prompt files and how they are filled. The words themselves are `prompts/*.md`.

A file holds a system and a user part, divided by a line `---user---`, or is an addition to another's user part. Placeholders are `${name}`; a
missing or an unused value is an error, so a prompt cannot silently lose its source text.
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
def load_prompt(name: str) -> Prompt:
    """Read `prompts/<name>.md`. Raises ConfigError when it has not both parts."""
    text = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    system, divider, user = text.partition(DIVIDER)
    if not divider or not system.strip() or not user.strip():
        raise ConfigError(f"prompt {name} needs a system and a user part, divided by {DIVIDER.strip()!r}")
    return Prompt(name, system.strip(), user.strip())


@cache
def load_addition(name: str) -> Prompt:
    """Read `prompts/<name>.md`, which is a user part alone: see `Prompt.before`. Raises ConfigError when it is empty."""
    text = (FOLDER / f"{name}.md").read_text(encoding="utf-8").strip()
    if not text:
        raise ConfigError(f"prompt {name} is empty")
    return Prompt(name, "", text)


def _placeholders(text: str) -> set[str]:
    return set(string.Template(text).get_identifiers())
