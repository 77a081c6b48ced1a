"""Tags and comments of HTML inside Markdown; a placeholder such as `<name>` is text."""

from __future__ import annotations

import re

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
    """The character that a match of `TAG` leaves: "^" and "_" before scripts, a space for a break, nothing for a style."""
    name = (tag["name"] or "").lower()
    if name in _SCRIPTS:
        return "" if tag["close"] else _SCRIPTS[name]
    return "" if name in _QUIET or not name else " "


def without_tags(text: str) -> str:
    """The text as a reader of the rendered page sees it."""
    return TAG.sub(shown_for, text)
