"""Reads and fills the prompt files `prompts/<product>/*.md`.

A file holds a system part and a user part, divided by a line `---user---`, or only an addition to the user part of another prompt.
Placeholders are `${name}`. A missing or unused value is an error, so a prompt cannot silently lose its source text.
A value of the user part is on one line, between tags, or a `Block`, and it cannot imitate the lines of the prompt.
"""

import re
import string
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from qagen_dagster.errors import ConfigError
from qagen_dagster.records.ids import digest
from qagen_dagster.toolkit.excerpt import TAG, Block, OwnText, escape_tags, single_line

FOLDER = Path(__file__).resolve().parent / "prompts"
DIVIDER = "\n---user---\n"
# Prefixes of the names of the files in these folders. The names are recorded in lineage and enter fingerprints.
_PREFIXES = {"answering": "answer_", "exams": "exam_", "problems": "problem_", "questions/batch": "batch_"}

_TAG = re.compile(r"(?m)^<(\w+)>$")
_FENCED = re.compile(r"(?m)^<(\w+)>\n\$\{(\w+)\}\n</\1>$")
_BEGINS_LINE = re.compile(r"(?m)^\$\{(\w+)\}")
_LABEL = re.compile(r"(?m)^([^\n:]*\w[^\n:]*:)")
_HEADING = re.compile(r"(?m)^(\w[^\n:$]*)$")
_BREAKS = r"\n\r\v\f\x1c-\x1e\x85\u2028\u2029"


@dataclass(frozen=True)
class Prompt:
    """A prompt file, read once."""

    name: str
    system: str
    user: str

    @property
    def hash(self) -> str:
        """A hash of the content, of 16 hexadecimal digits. It is part of lineage and of fingerprints."""
        return digest(self.system, self.user)[:16]

    @property
    def fields(self) -> tuple[set[str], set[str], set[str]]:
        """The placeholders of the system part, of the user part, and of the places between tags in the user part."""
        return (
            _placeholders(self.system),
            _placeholders(self.user),
            {inside for _, inside in _FENCED.findall(self.user)},
        )

    def before(self, other: "Prompt") -> "Prompt":
        """`other` with the user part of this prompt before its own user part."""
        return Prompt(other.name, other.system, f"{self.user}\n\n{other.user}")

    def fill(self, values: Mapping[str, str]) -> tuple[str, str]:
        """System and user text. Raises ConfigError for a missing or unused value."""
        wanted = _placeholders(self.system) | _placeholders(self.user)
        if wanted != set(values):
            missing, unused = sorted(wanted - set(values)), sorted(set(values) - wanted)
            raise ConfigError(f"prompt {self.name}: missing values {missing}, unused values {unused}")
        shown = {name: self._shown(name, value) for name, value in values.items()}
        return string.Template(self.system).substitute(values), string.Template(self.user).substitute(shown)

    def _shown(self, name: str, value: str) -> str:
        """A value as the user part shows it. Tags, and lines that begin like a line of the prompt, get a backslash."""
        if isinstance(value, OwnText):
            return value
        fenced = {inside for _, inside in _FENCED.findall(self.user)}
        text = value if isinstance(value, Block) or name in fenced else single_line(value)
        tags = [*_TAG.findall(self.user), *(() if isinstance(value, Block) else (TAG,))]
        text = escape_tags(text, tags) if tags else text
        begins_line = name in _BEGINS_LINE.findall(self.user)
        return self._imitation.sub(
            lambda found: (
                f"{found['lead']}\\{found['label']}" if begins_line or found.start() else found.group()
            ),
            text,
        )

    @cached_property
    def _imitation(self) -> re.Pattern[str]:
        """Finds the beginning of a line that looks like a label or a heading of the user part."""
        labels = [_words(label) for label in _LABEL.findall(self.user)]
        labels += [
            rf"{_words(heading)}[^\w{_BREAKS}]*(?=[{_BREAKS}]|\Z)" for heading in _HEADING.findall(self.user)
        ]
        lead = rf"(?:\A|(?<=[{_BREAKS}]))(?P<lead>[^\w{_BREAKS}]*)"
        return re.compile(rf"{lead}(?P<label>{'|'.join(labels) or '(?!)'})", re.IGNORECASE)


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


def own_prompts(shipped: Iterable[Prompt], texts: Mapping[str, str]) -> dict[str, Prompt]:
    """The prompts that a user wrote in place of shipped prompts, by name. `texts` maps the stems of shipped files to new texts.

    Raises ConfigError for a text that replaces no prompt, lacks a part, or differs in its fields or in the fields between tags.
    """
    known = {prompt.name.partition("_")[2]: prompt for prompt in shipped}
    found: dict[str, Prompt] = {}
    for stem, text in texts.items():
        prompt = known.get(stem)
        if prompt is None:
            raise ConfigError(
                f"there is no prompt {stem!r} to replace (there are: {', '.join(sorted(known))})"
            )
        system, user = text.split(DIVIDER, 1) if prompt.system and DIVIDER in text else ("", text)
        own = Prompt(prompt.name, system.strip(), user.strip())
        if not own.user or bool(own.system) is not bool(prompt.system):
            raise ConfigError(f"prompt {stem} needs a system and a user part, divided by {DIVIDER.strip()!r}")
        if own.fields != prompt.fields:
            names = ("system part", "user part", "user part between tags")
            parts = zip(names, own.fields, prompt.fields, strict=True)
            wrong = [
                f"{part} needs {sorted(wanted)}, has {sorted(has)}"
                for part, has, wanted in parts
                if has != wanted
            ]
            raise ConfigError(f"prompt {stem}: its {'; its '.join(wrong)}")
        found[prompt.name] = own
    return found


def prompt_name(path: str) -> str:
    """The name of the file `prompts/<path>.md` in records and fingerprints."""
    folder, _, stem = path.rpartition("/")
    return _PREFIXES.get(folder, "") + stem


def _read(path: str) -> str:
    return (FOLDER / f"{path}.md").read_text(encoding="utf-8")


def _words(label: str) -> str:
    """A pattern for a label with any white space between its words and any text in place of its values."""
    parts = re.split(r"(\$\{\w+\}|\s+|:$)", label)
    kinds = {"$": rf"[^{_BREAKS}]*?", " ": r"[^\S\n]+", ":": r"[^\S\n]*:"}
    return "".join(kinds.get(part[0]) or re.escape(part) for part in parts if part)


def _placeholders(text: str) -> set[str]:
    return set(string.Template(text).get_identifiers())
