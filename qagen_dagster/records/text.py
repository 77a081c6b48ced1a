"""Repairs and escapes text: control characters, Markdown, HTML tags, and LaTeX commands that lost their backslashes.

A placeholder such as `<name>` is text, not a tag. Commands that only print load this module, so it imports only the standard library.
"""

import re
from collections.abc import Iterable, Iterator
from html import escape
from typing import Final

_CONTROLS = re.compile(
    r"\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]"
)
_MARKDOWN = re.compile(r"[\\\[\]|*~]|(?<![^\W_])_|_(?![^\W_])")  # within a word, "_" marks nothing
_MOST = 3  # maximum number of names in a line
_ADDRESS = re.compile(r"(?i)(:(?=//)|@|www(?=\.))")


def visible(text: str) -> str:
    r"""The text with escapes such as `\u001b` in place of control characters (not of tabs and line ends) and direction marks."""
    return _CONTROLS.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def markdown_text(text: str) -> str:
    """Markdown that shows `visible` text without links, images, HTML or emphasis. An invisible word joiner breaks up addresses."""
    shown = _MARKDOWN.sub(r"\\\g<0>", visible(text).replace("`", "'"))
    return _ADDRESS.sub("\\1\u2060", escape(shown, quote=False))


def counted(what: str, names: Iterable[str]) -> Iterator[str]:
    """One line with `what`, the number of `names` and the first names; no line if there are none."""
    found = list(names)
    if found:
        more = f" and {len(found) - _MOST} more" if len(found) > _MOST else ""
        yield f"{what} ({len(found)}): {', '.join(found[:_MOST])}{more}"


_STYLES = "a abbr b big cite code del dfn em font i ins mark s samp small span strike strong tt u var wbr"
_BREAKS = (
    "blockquote br button caption center dd details div dl dt figcaption figure h[1-6] hr iframe img input kbd li nav ol p "
    "picture pre summary svg table tbody td tfoot th thead tr ul video"
)
_NAMES = f"{_STYLES} {_BREAKS} sub sup".replace(" ", "|")
TAG = re.compile(
    rf"<!--.{{0,2000}}?-->|<(?P<close>/?)(?P<name>{_NAMES})(?:\s[^<>]{{0,2000}}|/)?>", re.IGNORECASE
)
_SCRIPTS = {"sub": "_", "sup": "^"}
_QUIET = frozenset(_STYLES.split())


def shown_for(tag: re.Match[str]) -> str:
    """The text in place of a match of `TAG`: "^" or "_" at the start of a script, a space for a break, else nothing."""
    name = (tag["name"] or "").lower()
    if name in _SCRIPTS:
        return "" if tag["close"] else _SCRIPTS[name]
    return "" if name in _QUIET or not name else " "


def without_tags(text: str) -> str:
    """The text as a reader of the rendered page sees it."""
    return TAG.sub(shown_for, text)


# "\frac" in a JSON string is a form feed and "rac". No question has a form feed or a backspace. A tab, a carriage return or a
# line feed comes from a LaTeX command only if the rest of the command follows.
_LOST: Final = (
    (re.compile("\f"), r"\\f"),
    (re.compile("\x08"), r"\\b"),
    (re.compile("\t(?=(?:imes|heta|an|ext|extbf|ag|au|frac|riangle|o|op)(?![a-z]))"), r"\\t"),
    (re.compile("\r(?=(?:ho|ight|angle|ightarrow)(?![a-z]))"), r"\\r"),
    (re.compile("\n(?=(?:u|eq|abla|eg)(?![a-z]))"), r"\\n"),
)


def mended(value: object) -> object:
    """Text with repaired LaTeX commands and without white space at its ends. A number becomes text. Any other value is unchanged."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        return value
    for lost, command in _LOST:
        value = lost.sub(command, value)
    return value.strip()
