r"""Walks through TeX as TeX would read it, and names the first thing that is refused (`allowed.py` holds the names).

TikZ reads operations of a path from letters (`plot file`), after it has replaced commands. So a path is complete in the text
from `\draw` to `;`, with listed words only, and neither commands of the text nor parameters give it an operation.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from qagen_dagster.publishing.problems.allowed import (
    TOKEN,
    Own,
    RefusedError,
    after_space,
    allowed_command,
    check_arguments,
    clean,
    group_ends,
    head,
    joined,
    names,
    own_names,
)

_ENVIRONMENT = re.compile(r"\s*\{([A-Za-z]+\*?)\}")
_SETTINGS = {
    **dict.fromkeys((r"\tikzset", r"\ctikzset", r"\pgfplotsset", r"\tikzfeynmanset", r"\sisetup"), r"\s*\{"),
    r"\usetikzlibrary": r"\s*\{(?![^}]*(?:external|graphdrawing))[A-Za-z0-9.,\s-]*\}",
    r"\tikzstyle": r"\s*\{[\w -]*\}\s*\+?=\s*(?=\[)",
    r"\tikz": r"(?=\s*[\[{\\])",
}  # what must follow, so that nothing else is taken as their argument
_IN_PATH = frozenset((r"\closedcycle", r"\foreach"))
_TEXTED = frozenset(
    (
        "node",
        "coordinates",
        "pic",
        "expression",
        "matrix",
        "vertex",
        "diagram",
        "graph",
        "feynmandiagram",
        "addplot",
    )
)  # commands and operations: the group after them is no part of the path
_CONDITIONS = frozenset((r"\ifnum", r"\ifdim", r"\ifodd", r"\ifdefined"))
_KEYS = re.compile(
    r"gnuplot|insert\s+path|after\s+command|parent\s+path|to\s+path\s*[=/]|from\s+file|patch\s+table"
    r"|contour\s+external|external\s*/|graph\s+drawing|plot\s*(?:\[[^\]]{0,200}\]\s*)?(?:file|function)\s*\{"
)
_HANDLER = re.compile(r"/\s*\.\s*([A-Za-z]+)")
_DRAWS = re.compile(r"tikz|pgf|/\s*\.|\\(?:draw|path|node|addplot)(?![A-Za-z])")
_GLUED = re.compile(r"(?<![=,{(\[])(?<!\s)\s*#\d|#\d\s*(?:#|\\|(?!cm|mm|pt|em|ex)[A-Za-z])")


@dataclass
class _Frame:
    """Something open: what closes it, how its content is read, and what opened it."""

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
    """The first thing in a text that is not allowed; empty if there is none. It may use what is `given`."""
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
        self._environments = not environment  # no environment is defined within one
        self._ends = group_ends(text)
        self._frames = [_Frame("", "text")]
        self._options = False  # a bracket that follows holds keys
        self._place = 0

    def run(self) -> None:
        """Raises RefusedError."""
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
            self._parameter(top)
        elif self._closes(word, top, last):
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

    def _closes(self, word: str, top: _Frame, last: str) -> bool:
        if top.close == "$)":
            return word == ")" and last == "$"
        return word == top.close

    def _push(self, close: str, kind: str, opened: str, *, texted: bool = False) -> None:
        self._frames.append(_Frame(close, kind, opened, texted=texted))

    def _parameter(self, top: _Frame) -> None:
        if any(one.kind == "path" or one.picture for one in self._frames):
            raise RefusedError("# in a drawing")
        top.own = True

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
            self._condition(word, top)

    def _condition(self, word: str, top: _Frame) -> None:
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
        """Both halves are read as one text: what the first begins, the second ends."""
        middle = self._ends.get(self._place)
        second = None if middle is None else after_space(self._text, middle)
        if middle is None or second is None or second not in self._ends or not self._environments:
            raise RefusedError(r"\newenvironment")
        end = self._ends[second]
        halves = self._text[self._place + 1 : middle - 1], self._text[second + 1 : end - 1]
        _Walk("\n".join(halves), self._own, environment=True).run()
        self._place = end

    def _environment(self, word: str, top: _Frame) -> None:
        found = _ENVIRONMENT.match(self._text, self._place)
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
            raise RefusedError("a key that is put together")
        top.value = True
    elif word == ",":
        top.own = top.value = False
