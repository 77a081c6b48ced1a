"""Checks TeX before it is exported: whether the text uses only allowed names, and uses them only in allowed places.

The check reads the text token by token, as TeX would. It names a part that is not allowed.
"""

import contextlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

_SYMBOLS = frozenset(" \t\n!\"#$%&'()*+,-./:;<=>[\\]^_`{|}~")  # commands whose name is one of these signs
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
_ENVIRONMENT_MARK = re.compile(r"\s*\{([A-Za-z]+\*?)\}")
_SETTINGS = {
    **dict.fromkeys((r"\tikzset", r"\ctikzset", r"\pgfplotsset", r"\tikzfeynmanset", r"\sisetup"), r"\s*\{"),
    r"\usetikzlibrary": r"\s*\{(?![^}]*(?:external|graphdrawing))[A-Za-z0-9.,\s-]*\}",
    r"\tikzstyle": r"\s*\{[\w -]*\}\s*\+?=\s*(?=\[)",
    r"\tikz": r"(?=\s*[\[{\\])",
}  # the pattern that must follow each command, so that it cannot take anything else as its argument
_IN_PATH = frozenset((r"\closedcycle", r"\foreach"))
_TEXTED = frozenset((
    "node", "coordinates", "pic", "expression", "matrix", "vertex", "diagram", "graph", "feynmandiagram", "addplot",
))  # fmt: skip  # commands and operations: the group after each of them is text
_CONDITIONS = frozenset((r"\ifnum", r"\ifdim", r"\ifodd", r"\ifdefined"))
_KEYS = re.compile(
    r"gnuplot|insert\s+path|after\s+command|parent\s+path|to\s+path\s*[=/]|from\s+file|patch\s+table"
    r"|contour\s+external|external\s*/|graph\s+drawing|plot\s*(?:\[[^\]]{0,200}\]\s*)?(?:file|function)\s*\{"
)
_HANDLER = re.compile(r"/\s*\.\s*([A-Za-z]+)")
_DRAWS = re.compile(r"tikz|pgf|/\s*\.|\\(?:draw|path|node|addplot)(?![A-Za-z])")
_GLUED = re.compile(r"(?<![=,{(\[])(?<!\s)\s*#\d|#\d\s*(?:#|\\|(?!cm|mm|pt|em|ex)[A-Za-z])")


class RefusedError(Exception):
    """The text is refused. The message names the refused part."""


@dataclass(frozen=True)
class Names:
    """The names of `allowed.txt` by section."""

    commands: frozenset[str]
    environments: frozenset[str]
    pictures: frozenset[str]  # environments that draw
    paths: frozenset[str]  # commands that begin a path
    operations: frozenset[str]  # words of a path
    handlers: frozenset[str]  # handlers of TikZ keys, such as `/.style`
    structure: frozenset[str]  # commands that a command defined in the text must not take as its argument
    reserved: frozenset[str]  # commands of TeX and its packages that a text must not define


@dataclass
class Own:
    """The definitions of a text: environments, and commands with the number of arguments and whether the first argument is optional."""

    commands: dict[str, tuple[int, bool]] = field(default_factory=dict[str, tuple[int, bool]])
    environments: set[str] = field(default_factory=set[str])

    def add(self, name: str, count: int = 0, *, optional: bool = False) -> None:
        """Add a command. Raises RefusedError for a name that must not be defined, or that is already defined with other arguments."""
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
    sections["structure"] |= sections["paths"] | set(_HEADS)
    sections["commands"] |= sections["structure"]
    sections["environments"] |= sections["pictures"]
    return Names(**{section: frozenset(one) for section, one in sections.items()})


def clean(latex: str) -> str:
    """The text with a space in place of each comment.

    Raises RefusedError for `^^` and control characters, which TeX may read as other characters.
    """
    found = _UNREADABLE.search(latex)
    if found:
        raise RefusedError(found.group() if found.group() == "^^" else "a control character")
    return _COMMENT.sub(r"\1 \2", _LINE_END.sub("\n", latex))


def joined(latex: str) -> str:
    """The text without comments and without the line breaks after comments, as TeX reads it."""
    return _COMMENT.sub(r"\1", _LINE_END.sub("\n", latex))


def head(text: str, token: re.Match[str]) -> re.Match[str] | None:
    """The head of the definition that begins at `token`; None if no definition does. Raises RefusedError for a form that is not allowed."""
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
    for variable in _VARIABLES.finditer(text):
        own.add(variable.group(1) or variable.group(2))


def allowed_command(command: str, own: Own) -> bool:
    r"""Whether a command, such as `\frac`, is listed, is one of the signs, or is defined by the text."""
    name = command[1:]
    return name in names().commands or name in _SYMBOLS or name in own.commands


def own_of(definitions: Sequence[str]) -> Own:
    """The commands and environments of `definitions`. A definition that is refused adds only what comes before the refused part."""
    own = Own()
    for definition in definitions:
        with contextlib.suppress(RefusedError):
            own_names(clean(definition), own)
    return own


def group_ends(text: str) -> dict[int, int]:
    """The end of each group in braces, by the place of its beginning."""
    ends: dict[int, int] = {}
    opened: list[int] = []
    for token in TOKEN.finditer(text):
        if token.group() == "{":
            opened.append(token.start())
        elif token.group() == "}" and opened:
            ends[opened.pop()] = token.end()
    return ends


def check_arguments(text: str, token: re.Match[str], own: Own, ends: Mapping[int, int]) -> None:
    r"""Raise RefusedError if a command defined in the text would take a command of `structure`, such as `\begin`, as its argument.

    The definition could then move `\begin` elsewhere. Commands of the text that have arguments are refused as arguments, too.
    """
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
    """The first place from `place` on that is not white space."""
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
    environment = parts.get("environment")
    if environment:
        own.add(environment.rstrip("*"))
        own.environments.add(environment)
        return
    optional = bool(parts.get("default") or parts.get("optional"))  # the first argument
    mandatory = (parts.get("parameters") or "").count("#") + (parts.get("mandatory") or "").count("m")
    count = int(parts.get("count") or mandatory + bool(parts.get("optional")))
    for name in re.findall(r"[A-Za-z]+", parts.get("names") or parts.get("name") or ""):
        own.add(name, count, optional=optional)


@dataclass
class _Frame:
    """An open group, environment, path or list of keys: the token that closes it, how its content is read, and the token that opened it."""

    close: str
    kind: str  # text, path, keys or point
    opened: str = ""
    picture: bool = False
    texted: bool = False  # path: the next group is text
    naming: bool = False  # path: names of `foreach` or `let` follow
    listing: bool = False  # path: a list of `foreach` follows
    own: bool = False  # keys: the key has a command or a parameter
    value: bool = False  # keys: after the equals sign


def refused(latex: str, given: Own | None = None) -> str:
    """A part of the text that is not allowed; empty if everything is allowed.

    The text may also use the commands and environments in `given`.
    """
    own = Own(dict(given.commands), set(given.environments)) if given else Own()
    try:
        text = clean(latex)
        own_names(text, own)
        _check_keys(joined(latex))
        _Walk(text, own).run()
    except RefusedError as error:
        return str(error)
    return ""


def _check_keys(text: str) -> None:
    if not _DRAWS.search(text):
        return
    for found in (_KEYS.search(text), _GLUED.search(text)):
        if found:
            raise RefusedError(" ".join(found.group().split()))
    for handler in _HANDLER.finditer(text):
        if handler.group(1) not in names().handlers:
            raise RefusedError(handler.group())


class _Walk:
    def __init__(self, text: str, own: Own, *, environment: bool = False) -> None:
        self._text = text
        self._own = own
        self._environments = not environment  # an environment must not be defined within another
        self._ends = group_ends(text)
        self._frames = [_Frame("", "text")]
        self._options = False  # whether a bracket that follows directly has keys
        self._place = 0

    def run(self) -> None:
        """Check the text. Raises RefusedError, which names the first part that is not allowed."""
        last = ""
        while (token := TOKEN.search(self._text, self._place)) is not None:
            self._place = token.end()
            self._read(token, last)
            last = token.group()
        if len(self._frames) > 1:
            raise RefusedError(f"{self._frames[-1].opened} without its end")

    def _read(self, token: re.Match[str], last: str) -> None:
        word, top = token.group(), self._frames[-1]
        options, self._options = self._options, False
        if word.startswith("\\"):
            self._command(token, top)
        elif word == "#":
            if any(frame.kind == "path" or frame.picture for frame in self._frames):
                raise RefusedError("# in a drawing")
            top.own = True
        elif word == ")" and last == "$" if top.close == "$)" else word == top.close:
            self._frames.pop()
        elif word == "}":
            raise RefusedError(f"{top.opened or 'a }'} without its {'end' if top.opened else '{'}")
        elif word == "[" and (options or top.kind == "path"):
            self._push("]", "keys", "[")
        elif top.kind == "path":
            self._in_path(word, top)
        elif word == "{":
            self._push("}", "keys" if top.kind == "keys" else "text", "{")
        elif top.kind == "keys":
            _in_keys(word, top)

    def _push(self, close: str, kind: str, opened: str, *, texted: bool = False) -> None:
        self._frames.append(_Frame(close, kind, opened, texted=texted))

    def _command(self, token: re.Match[str], top: _Frame) -> None:
        word = token.group()
        if not allowed_command(word, self._own):
            raise RefusedError(word)
        if word in (r"\begin", r"\end"):
            self._environment(word, top)
            return
        if top.kind == "path" and not (word in _IN_PATH or top.naming):
            raise RefusedError(f"{word} in a path")
        if word[1:] in self._own.commands:
            top.own = True
            check_arguments(self._text, token, self._own, self._ends)
        self._structure(token, top)

    def _structure(self, token: re.Match[str], top: _Frame) -> None:
        word = token.group()
        if word == r"\foreach" and top.kind == "path":
            top.naming = top.listing = True
        elif (found := head(self._text, token)) is not None:
            self._place = found.end()
            self._options = word == r"\foreach"
            if word.endswith("newenvironment"):
                self._new_environment()
        elif word[1:] in names().paths:
            self._push(";", "path", word, texted=word[1:] in _TEXTED)
        elif word in _SETTINGS:
            self._setting(word)
        elif word in _CONDITIONS:
            self._push(r"\fi", "text", word)
        elif word in (r"\else", r"\fi"):
            if top.close != r"\fi":
                raise RefusedError(word)
            if word == r"\fi":
                self._frames.pop()

    def _setting(self, word: str) -> None:
        found = re.compile(_SETTINGS[word]).match(self._text, self._place)
        if found is None:
            raise RefusedError(word)
        self._place = found.end()
        self._options = word in (r"\tikz", r"\tikzstyle")
        if found.group().endswith("{"):
            self._push("}", "keys", word)

    def _new_environment(self) -> None:
        """Read both halves as one text, because the second half may end what the first half begins."""
        middle = self._ends.get(self._place)
        second = None if middle is None else after_space(self._text, middle)
        if middle is None or second is None or second not in self._ends or not self._environments:
            raise RefusedError(r"\newenvironment")
        end = self._ends[second]
        halves = self._text[self._place + 1 : middle - 1], self._text[second + 1 : end - 1]
        _Walk("\n".join(halves), self._own, environment=True).run()
        self._place = end

    def _environment(self, word: str, top: _Frame) -> None:
        found = _ENVIRONMENT_MARK.match(self._text, self._place)
        name = found.group(1) if found else ""
        if found is None or not (name in names().environments or name in self._own.environments):
            raise RefusedError(word + " ".join(self._text[self._place : self._place + 40].split()))
        self._place = found.end()
        if word == r"\begin" and top.kind != "path":
            self._push(rf"\end{{{name}}}", "text", rf"\begin{{{name}}}")
            self._frames[-1].picture = self._options = name in names().pictures
        elif top.close == rf"\end{{{name}}}":
            self._frames.pop()
        else:
            raise RefusedError(rf"{word}{{{name}}} in {top.opened or 'no environment'}")

    def _in_path(self, word: str, top: _Frame) -> None:
        if word == "(":
            calculated = self._text.startswith("$", self._place)
            self._push("$)" if calculated else ")", "point", "(")
        elif word == "{":
            text = top.texted or top.naming or top.listing
            self._push("}", "text" if text else "path", "{")
            top.texted = top.listing = False
        elif word.isascii() and word.isalpha():
            self._operation(word, top)

    def _operation(self, word: str, top: _Frame) -> None:
        if word not in names().operations:
            raise RefusedError(f"{word} in a path")
        if word in ("foreach", "let"):
            top.naming, top.listing = True, word == "foreach"
        elif word == "in":
            top.naming = False
        elif word != "at":
            top.texted = word in _TEXTED


def _in_keys(word: str, top: _Frame) -> None:
    if word == "=":
        if top.own and not top.value:
            raise RefusedError("a key whose name contains a command or a parameter")
        top.value = True
    elif word == ",":
        top.own = top.value = False
