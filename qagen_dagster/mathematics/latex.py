"""A check of LaTeX for balanced dollar signs, braces, environments, left and right. It does not compile."""

from __future__ import annotations

import re

_ESCAPED = re.compile(r"\\[\\${}%&#_]")
_ENVIRONMENT = re.compile(r"\\(begin|end)\s*\{([A-Za-z*]+)\}")
_LEFT, _RIGHT = re.compile(r"\\left(?![a-z])"), re.compile(r"\\right(?![a-z])")
_PAIRS = (("\\(", "\\)"), ("\\[", "\\]"))
_OPEN_END = re.compile(r"\\(?:frac|dfrac|tfrac|sqrt)\s*(?:\$|$)|[\^_]\s*(?:\$|$)|\\$")
_BARE = re.compile(r"\\(?:frac|dfrac|sqrt|times|cdot|pi|theta|lambda|sin|cos|tan|text|mathrm)\b|\^\{")


def latex_fault(text: str) -> str:
    """A description of what is unbalanced; empty if nothing is."""
    text = _ESCAPED.sub("  ", text)  # a line break before a bracket does not open a formula
    for opening, closing in _PAIRS:
        if text.count(opening) != text.count(closing):
            return f"{opening} and {closing} do not pair"
        text = text.replace(opening, "$").replace(closing, "$")
    if len(_LEFT.findall(text)) != len(_RIGHT.findall(text)):
        return "\\left and \\right do not pair"
    if fault := _environment_fault(text):
        return fault
    return _inline_fault(text)


def _environment_fault(text: str) -> str:
    open_environments: list[str] = []
    for kind, name in _ENVIRONMENT.findall(text):
        if kind == "begin":
            open_environments.append(name)
        elif not open_environments or open_environments.pop() != name:
            return f"\\end{{{name}}} without its \\begin"
    if open_environments:
        return f"\\begin{{{open_environments[-1]}}} without its \\end"
    return ""


def _inline_fault(text: str) -> str:
    parts = text.replace("$$", "$").split("$")
    if len(parts) % 2 == 0:
        return "a $ without its partner (money is written \\$)"
    depth = 0
    for char in text:
        depth += {"{": 1, "}": -1}.get(char, 0)
        if depth < 0:
            return "a } without its {"
    if depth:
        return "a { without its }"
    if any(part.count("{") != part.count("}") for part in parts[1::2]):
        return "braces that are opened in one formula and closed in another"
    if any(_OPEN_END.search(part) for part in parts[1::2]):
        return "a formula that breaks off"
    outside = " ".join(parts[::2])
    if len(parts) > 1 and (bare := _BARE.search(outside)):
        return f"{bare.group()} outside of the $ signs"
    return ""
