"""Formulae of JATS articles as readable text: TeX without document wrapping, MathML on one line."""

from __future__ import annotations

import re
from collections.abc import Callable

from qagen_dagster.formats.jats.tree import Element, children, local, text_of

_DOCUMENT = re.compile(r"\\begin\s*\{document\}(.*?)\\end\s*\{document\}", re.DOTALL)
_PREAMBLE = re.compile(r"\\(?:documentclass|usepackage|setlength|oddsidemargin)[^\n]{0,300}")
_NOISE = re.compile(
    r"\\(?:displaystyle|textstyle|nolimits|limits)(?![A-Za-z])|\\(?:left|right)(?=[().\[\]|])"
)
_ENVIRONMENT = re.compile(
    r"\\begin\{(eqnarray|align|aligned|equation|gather|multline|displaymath)(\*?)\}(.*)\\end\{\1\2\}",
    re.DOTALL,
)
_FENCES = ("$$", "$", r"\[", r"\]", r"\(", r"\)")
# Signs with a space on both sides; escaped if a sign looks like another character.
_SPACED = frozenset("=<>≤≥≠≈≡∝~→←↔⇒⇔∈∉⊂⊆∩+±⋅·*/∧≪≫\u223c\u2212\u00d7\u2217\u2228\u222a")
_ACCENTS = {
    "\u00af": "\u0304",  # macron
    "\u203e": "\u0304",
    "\u0304": "\u0304",
    "^": "\u0302",
    "\u02c6": "\u0302",
    "~": "\u0303",
    "\u02dc": "\u0303",
    "\u02d9": "\u0307",  # dot
    "\u2192": "\u20d7",  # arrow
}
_TIGHT_OPEN = frozenset("([{|")
_ATOM = re.compile(r"[^\W_]+|[^\W_]*[.,]?[^\W_]+|\S", re.UNICODE)
_DEGREES = ("\u2218", "\u00b0", "o")
_INVISIBLE: dict[int, None] = dict.fromkeys((0x2061, 0x2062, 0x2063, 0x2064, 0x200B))


def formula_text(formula: Element) -> str:
    """A formula's content as one line: `$TeX$` if the article has TeX, else its linearised MathML.

    Empty when the formula is only a picture.
    """
    found = next((one for one in formula.iter() if local(one) == "tex-math"), None)
    if found is not None:
        tex = tex_text(text_of(found))
        if tex:
            return f"${tex}$"
    math = next((one for one in formula.iter() if local(one) == "math"), None)
    if math is not None:
        return math_text(math)
    parts = [formula.text or "", *(one.tail or "" for one in children(formula))]
    own = [text_of(one) for one in children(formula) if local(one) in _PLAIN]
    return " ".join(" ".join((*parts, *own)).split())


_PLAIN = frozenset({"italic", "bold", "sub", "sup", "roman", "sans-serif", "styled-content"})


def tex_text(source: str) -> str:
    """TeX on one line without document wrapping, fences and layout commands."""
    found = _DOCUMENT.search(source)
    tex = _PREAMBLE.sub("", found[1] if found else source).strip()
    for fence in _FENCES:
        tex = tex.removeprefix(fence).removesuffix(fence).strip()
    environment = _ENVIRONMENT.fullmatch(tex)
    if environment and "\\begin{" + environment[1] not in environment[3]:
        tex = environment[3].strip()
    return " ".join(_NOISE.sub("", tex).replace("\\:", " ").split())


def math_text(math: Element) -> str:
    """Presentation MathML on one line: `x_i^2`, `(a + b)/c`, `sqrt(x)`; table rows are separated by `; `."""
    return " ".join(_walk(math).translate(_INVISIBLE).split())


def _walk(element: Element) -> str:
    name = local(element)
    if name in ("annotation", "annotation-xml"):
        return ""
    special = _LAYOUT.get(name)
    if special is not None:
        return special(children(element))
    if name == "mo":
        return _operator("".join(text_of(element).split()))
    if name in ("mi", "mn", "ms", "mtext"):
        words = " ".join(text_of(element).split())
        return f" {words} " if name == "mtext" and len(words) > 1 else words
    if name == "mspace":
        return " "
    if name == "mfenced":
        opens, closes = element.get("open", "("), element.get("close", ")")
        return opens + ", ".join(_walk(one).strip() for one in children(element)) + closes
    return "".join(_walk(one) for one in children(element))


def _operator(sign: str) -> str:
    if sign in _SPACED:
        return f" {sign} "
    return f"{sign} " if sign in (",", ";") else sign


def _grouped(text: str) -> str:
    """An operand in parentheses, unless it is a single name, number or sign."""
    text = " ".join(text.split())
    if _ATOM.fullmatch(text) or not text or (text[0] in _TIGHT_OPEN and text[-1] in ")]}|"):
        return text
    return f"({text})"


def _parts(elements: list[Element], count: int) -> list[str]:
    texts = [_walk(one).strip() for one in elements[:count]]
    return texts + [""] * (count - len(texts))


def _script(mark: str) -> Callable[[list[Element]], str]:
    def write(elements: list[Element]) -> str:
        base, script = _parts(elements, 2)
        if mark == "^" and script in _DEGREES:
            return f"{base}°"
        return f"{base}{mark}{_grouped(script)}" if script else base

    return write


def _both(elements: list[Element]) -> str:
    base, low, high = _parts(elements, 3)
    return base + (f"_{_grouped(low)}" if low else "") + (f"^{_grouped(high)}" if high else "")


def _over(elements: list[Element]) -> str:
    base, mark = _parts(elements, 2)
    if mark in _ACCENTS and len(base) == 1:
        return base + _ACCENTS[mark]
    return f"{base}^{_grouped(mark)}" if mark else base


def _fraction(elements: list[Element]) -> str:
    top, bottom = _parts(elements, 2)
    return f"{_grouped(top)}/{_grouped(bottom)}"


def _root(elements: list[Element]) -> str:
    return f"sqrt({''.join(_walk(one) for one in elements).strip()})"


def _nth_root(elements: list[Element]) -> str:
    base, index = _parts(elements, 2)
    return f"root_{_grouped(index)}({base})"


def _table(elements: list[Element]) -> str:
    return "; ".join(_walk(row).strip() for row in elements)


def _row(elements: list[Element]) -> str:
    return " ".join(_walk(cell).strip() for cell in elements)


_LAYOUT: dict[str, Callable[[list[Element]], str]] = {
    "msub": _script("_"),
    "msup": _script("^"),
    "munder": _script("_"),
    "mover": _over,
    "msubsup": _both,
    "munderover": _both,
    "mfrac": _fraction,
    "msqrt": _root,
    "mroot": _nth_root,
    "mtable": _table,
    "mtr": _row,
    "mlabeledtr": _row,
    "semantics": lambda elements: _walk(elements[0]) if elements else "",
}
