r"""The TeX that may leave this program: allowed names, where they may stand, and the first thing that is refused.

TeX reads and writes files, and items come from models and untrusted files. So every command and environment of a text must
be listed in `allowed.txt` or be defined by the text. Names that only TeX would put together (`\csname`, `^^`, comments
within a name, parameters) are refused. `drawing.py` says what may stand in a drawing.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

_SYMBOLS = frozenset(" \t\n!\"#$%&'()*+,-./:;<=>[\\]^_`{|}~")  # commands of one sign
_ALLOWED = Path(__file__).with_name("allowed.txt")
_UNREADABLE = re.compile(r"\^\^|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)%[^\n]*(\n[ \t]*)?")
_LINE_END = re.compile(r"\r\n?")
TOKEN = re.compile(r"\\(?:[A-Za-z@]+|.|\Z)|[A-Za-z]+|\S", re.DOTALL)
_SPACE = re.compile(r"\s*")
_OPTIONAL = re.compile(r"\[[^\[\]{}]{0,200}\]")
_NAME = r"\s*\{?\s*\\(?P<name>[A-Za-z]+)\s*\}?\s*"
_BODY = r"(?=\{)"
_COMMAND = re.compile(rf"\*?{_NAME}(?:\[(?P<count>\d)\]\s*(?P<default>\[[^\[\]\\]*\])?)?\s*{_BODY}")
_PLAIN = re.compile(rf"\s*\\(?P<name>[A-Za-z]+)\s*(?P<parameters>(?:#\d\s*)*){_BODY}")
_DOCUMENT = re.compile(
    rf"{_NAME}\{{(?P<optional>[ +]*(?:o|O\{{[^{{}}\\]*\}}))?(?P<mandatory>[m +]*)\}}\s*{_BODY}"
)
_VALUE = re.compile(rf"\*?(?:\[[^\[\]\\]*\])?{_NAME}{_BODY}")
_ENVIRONMENT = re.compile(r"\s*\{(?P<environment>[A-Za-z]+\*?)\}\s*(?=\{)")
_LOOP = re.compile(
    r"\s*(?:\[\s*(?:count|index)\s*=\s*\\[A-Za-z]+\s*\]\s*)?(?P<names>\\[A-Za-z]+(?:\s*/\s*\\[A-Za-z]+)*)\s*(?=\[|in(?![A-Za-z]))"
)
_HEADS = {
    **dict.fromkeys(("newcommand", "renewcommand", "providecommand"), _COMMAND),
    **dict.fromkeys(("def", "gdef", "edef", "xdef"), _PLAIN),
    **dict.fromkeys((f"{how}DocumentCommand" for how in ("New", "Renew", "Provide", "Declare")), _DOCUMENT),
    **dict.fromkeys(
        ("DeclareMathOperator", "DeclareSIUnit", "pgfmathsetmacro", "pgfmathtruncatemacro"), _VALUE
    ),
    **dict.fromkeys(("newenvironment", "renewenvironment"), _ENVIRONMENT),
    "foreach": _LOOP,
}
_VARIABLES = re.compile(
    r"(?:count|variable|evaluate|remember|index)\s*=\s*\\([A-Za-z]+)|\bas\s*\\([A-Za-z]+)"
)


class RefusedError(Exception):
    """Carries what is refused, as it stands in the text."""


@dataclass(frozen=True)
class Names:
    """The names of `allowed.txt` by section."""

    commands: frozenset[str]
    environments: frozenset[str]
    pictures: frozenset[str]  # environments that draw
    paths: frozenset[str]  # commands that begin a path
    operations: frozenset[str]  # words of a path
    handlers: frozenset[str]  # of keys
    structure: frozenset[str]  # commands that no command of the text may take as its argument
    reserved: frozenset[str]  # commands of TeX and its packages that a text must not define


@dataclass
class Own:
    """What a text defines: its commands, each with its number of arguments and whether it has an optional one; its environments."""

    commands: dict[str, tuple[int, bool]] = field(default_factory=dict[str, tuple[int, bool]])
    environments: set[str] = field(default_factory=set[str])

    def add(self, name: str, count: int = 0, *, optional: bool = False) -> None:
        """Raises RefusedError for a name that TeX has, or that has other arguments already."""
        known = names()
        taken = name in known.reserved or name.startswith(("pgf", "pdf", "tikz", "lua", "XeTeX"))
        if name in known.structure or (taken and name not in known.commands):
            raise RefusedError(f"\\{name}")
        if self.commands.setdefault(name, (count, optional)) != (count, optional):
            raise RefusedError(f"\\{name}")


@cache
def names() -> Names:
    """The names of `allowed.txt`."""
    sections: dict[str, set[str]] = {}
    chosen: set[str] = set()
    for line in _ALLOWED.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            chosen = sections.setdefault(line.strip("[]"), set())
        elif not line.startswith("%"):
            chosen.update(line.split())
    structure = sections["structure"] | sections["paths"] | set(_HEADS)
    return Names(
        commands=frozenset(sections["commands"] | structure),
        environments=frozenset(sections["environments"] | sections["pictures"]),
        pictures=frozenset(sections["pictures"]),
        paths=frozenset(sections["paths"]),
        operations=frozenset(sections["operations"]),
        handlers=frozenset(sections["handlers"]),
        structure=frozenset(structure),
        reserved=frozenset(sections["reserved"]),
    )


def clean(latex: str) -> str:
    """The text with comments blanked, as TeX tells them. Raises RefusedError for signs that TeX reads as others."""
    found = _UNREADABLE.search(latex)
    if found:
        raise RefusedError(found.group() if found.group() == "^^" else "a control character")
    return _COMMENT.sub(r"\1 \2", _LINE_END.sub("\n", latex))


def joined(latex: str) -> str:
    """The text without comments and the line breaks after them, as TeX joins it."""
    return _COMMENT.sub(r"\1", _LINE_END.sub("\n", latex))


def head(text: str, token: re.Match[str]) -> re.Match[str] | None:
    """The head of a definition; None for any other token. Raises RefusedError for a head of another shape."""
    pattern = _HEADS.get(token.group()[1:]) if token.group().startswith("\\") else None
    if pattern is None:
        return None
    found = pattern.match(text, token.end())
    if found is None:
        raise RefusedError(token.group())
    return found


def own_names(text: str, own: Own) -> None:
    """Add to `own` what a text defines. Raises RefusedError."""
    for token in TOKEN.finditer(text):
        found = head(text, token)
        if found is not None:
            _add(found.groupdict(), own)
    for one in _VARIABLES.finditer(text):
        own.add(one.group(1) or one.group(2))


def allowed_command(command: str, own: Own) -> bool:
    r"""Whether `\command` is listed, a sign, or defined by the text."""
    name = command[1:]
    return name in names().commands or name in _SYMBOLS or name in own.commands


def own_of(definitions: Sequence[str]) -> Own:
    """What definitions define."""
    own = Own()
    for one in definitions:
        with contextlib.suppress(RefusedError):
            own_names(clean(one), own)
    return own


def group_ends(text: str) -> dict[int, int]:
    """The end of each group by its beginning."""
    ends: dict[int, int] = {}
    opened: list[int] = []
    for token in TOKEN.finditer(text):
        if token.group() == "{":
            opened.append(token.start())
        elif token.group() == "}" and opened:
            ends[opened.pop()] = token.end()
    return ends


def check_arguments(text: str, token: re.Match[str], own: Own, ends: Mapping[int, int]) -> None:
    """Refuse a command of the text that would take a piece of the structure as its argument, and could move it."""
    count, optional = own.commands[token.group()[1:]]
    place = token.end()
    for number in range(count):
        place = after_space(text, place)
        if not (optional and number == 0):
            place = _after_argument(text, place, token.group(), own, ends)
        elif text.startswith("[", place):
            found = _OPTIONAL.match(text, place)
            if found is None:
                raise RefusedError(f"{token.group()} before [")
            place = found.end()


def after_space(text: str, place: int) -> int:
    """The first place from `place` on that is no white space."""
    found = _SPACE.match(text, place)
    return found.end() if found else place


def _after_argument(text: str, place: int, command: str, own: Own, ends: Mapping[int, int]) -> int:
    if place in ends:
        return ends[place]
    token = TOKEN.match(text, place)
    word = token.group() if token else ""
    moved = word[1:] in names().structure or own.commands.get(word[1:], (0, False))[0] > 0
    if token is None or word in ("{", "}", "]", "#") or (word.startswith("\\") and moved):
        raise RefusedError(f"{command} before {word or 'the end'}")
    return token.end() if word.startswith("\\") else place + 1


def _add(parts: dict[str, str | None], own: Own) -> None:
    """Add the name of one head to `own`."""
    environment = parts.get("environment")
    if environment:
        own.add(environment.rstrip("*"))
        own.environments.add(environment)
        return
    for name in _words(parts.get("names") or parts.get("name") or ""):
        count, optional = _arguments(parts)
        own.add(name, count, optional=optional)


def _arguments(parts: dict[str, str | None]) -> tuple[int, bool]:
    """How many arguments a defined command takes, and whether the first is optional."""
    optional = bool(parts.get("default") or parts.get("optional"))
    mandatory = (parts.get("parameters") or "").count("#") + (parts.get("mandatory") or "").count("m")
    return int(parts.get("count") or mandatory + bool(parts.get("optional"))), optional


def _words(text: str) -> Iterator[str]:
    return (one.group() for one in re.finditer(r"[A-Za-z]+", text))
