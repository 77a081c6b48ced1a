"""Reads the elements of a JATS article: safe XML parsing, and running text and formulae on one line.

The parser loads no DTD, fetches nothing, expands only XML's five entities and the entities that the file declares, and limits depth, text
size and entity expansion. `entities.py` replaces named characters (`&alpha;`) before parsing.

In running text, markup is dropped and spacing is normalised. Superscripts become `10^-5` and `m^2`, subscripts are joined
(`H2O`, but `10_2` after a digit), superscript citations become `[3]`, and other reference marks follow a `^` (`2010^12`). Inline
pictures without alternative text become U+FFFD. Formulae become TeX without its document wrapping, or linearised MathML.
"""

import re
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import TypeAlias, cast

from lxml import etree

from qagen_dagster.errors import DocumentError
from qagen_dagster.formats.decoding import without_unseen
from qagen_dagster.formats.jats.entities import with_characters

Element: TypeAlias = etree._Element  # pyright: ignore[reportPrivateUsage]  lxml has no public name

UNREADABLE = "\ufffd"  # a character that could not be read
HREF = "{http://www.w3.org/1999/xlink}href"
_DOCUMENT = re.compile(r"\\begin\s*\{document\}(.*?)(?:\\end\s*\{document\}|\Z)", re.DOTALL)
_PREAMBLE = re.compile(r"\\(?:documentclass|usepackage|setlength|oddsidemargin)(?:[\[{][^][{}]{0,99}[]}])*")
_NOISE = re.compile(
    r"\\(?:displaystyle|textstyle|nolimits|limits)(?![A-Za-z])|\\(?:left|right)(?:\s*\.|(?=[()\[\]|]))"
)
_TEX_COMMENT = re.compile(r"(?<!\\)%.*\s*")
_ENVIRONMENT = re.compile(
    r"\\begin\{(eqnarray|align|aligned|equation|gather|multline|displaymath)(\*?)\}(.*)\\end\{\1\2\}",
    re.DOTALL,
)
_FENCES = ("$$", "$", r"\[", r"\]", r"\(", r"\)")
# Operators with a space on both sides. A character that looks like another one is written as an escape.
_SPACED = frozenset("=<>≤≥≠≈≡∝~→←↔⇒⇔∈∉⊂⊆∩+±⋅·*/∧≪≫\u2a7d\u2a7e\u223c\u2212\u00d7\u2217\u2228\u222a")
_RELATIONS = ("=", "<", ">", "≤", "≥", "≠", "≈", "≡", "∝", "→", "\u2a7d", "\u2a7e", "\u223c")
# Macrons, circumflexes, tildes, dots and arrows, each with its combining form
_SIGNS = "\u00af\u203e\u0304_\u2015\u2212^\u02c6~\u02dc\u223c\u02d9.\u00a8\u2192\u20d7"
_COMBINING = "\u0304" * 6 + "\u0302" * 2 + "\u0303" * 3 + "\u0307" * 2 + "\u0308" + "\u20d7" * 2
_ACCENTS = dict(zip(_SIGNS, _COMBINING, strict=True))
_DEPTHS = dict(zip("([{)]}", (1, 1, 1, -1, -1, -1), strict=True))
_ATOM = re.compile(r"[^\W\d_]+|\d+(?:[.,]\d+)*|\S")
_SIGNED = re.compile(r"(^|[(\[{,;=<>\u2264\u2265\u2248~\u00d7/^_] ?) ?([-\u2212+\u00b1]) (?=\w)")
_GLUED = re.compile(r"[_^/](?:[^\W_]+(?:[.,]\d+)*|\([^()]*\))$")  # the end of a script or a denominator
_PARTED = re.compile(r"[^\W_]+/|\(.*\)/|[_^]")  # a fraction, or a script on the left
_DEGREES = ("\u2218", "\u00b0", "o")
_FRACTION = re.compile(r"(?:[^\W_]+|\([^/]*\))/(?:[^\W_]+|\(.*\))")
_ENCLOSED = {"strike": "cancel({})", "radical": "sqrt({})", "phasorangle": "∠{}", "actuarial": "{}⌉"}
_SHIFTED = re.compile(r"[^\W\d_][-+\u2212]\w")  # an index such as "n-1"
# Elements that begin on a new line.
_NAMES_OF_BLOCKS = (
    "array boxed-text chem-struct-wrap code def-list disp-formula disp-formula-group disp-quote fig "
    "fig-group graphic list media preformat speech statement supplementary-material table-wrap "
    "table-wrap-group verse-group"
)
BLOCKS = frozenset(_NAMES_OF_BLOCKS.split())
# Elements whose text is not part of the line.
_NAMES_OF_DROPPED = (
    "object-id contrib-id institution-id graphic media annotation annotation-xml index-term x "
    "processing-meta alt-text long-desc"
)
_DROPPED = frozenset(_NAMES_OF_DROPPED.split())
_NAMES_OF_BREAKING = "p fn def-item def term list-item table tbody tr td th"
_BREAKING = BLOCKS.union(_NAMES_OF_BREAKING.split())  # in `segments`
_MARKING = frozenset({"bibr", "fn", "table-fn", "aff", "corresp", "author-notes", "other"})
# The text of a reference that is only a mark. Without a `^`, it would read as part of the preceding word.
_MARK = re.compile(r"\d{1,3}[a-z]?(?:[,;\u2013-] ?\d{1,3}[a-z]?)*|[a-z](?:, ?[a-z])*")
_BETWEEN_MARKS = re.compile(r"\s*[,;\u2013-]\s*")
_COMPOUND = re.compile(
    r"^[\W\d_]*+[^\W\d_].*[-+/*\u2212\u00b1]\w|\d(?:[-+*\u2212\u00b1][^\W\d_]|/\d)"
)  # has an operator
_ORDINAL = re.compile(r"(?:st|nd|rd|th|TM|®|™|©)")
_BEFORE = re.compile(r" (?=[,;)\]](?:\W|\s|$)|[.:!?](?:\s|$))")
_AFTER = re.compile(r"(?<=[(\[]) ")
_EMPTY = re.compile(r" (?:\(\s*[,;]?\s*\)|\[\s*[,;]?\s*\])")


def read_tree(data: bytes) -> tuple[Element, list[str]]:
    """The root element, and the names of entities that became U+FFFD. Raises DocumentError `corrupt` with the place of the first error."""
    parser = etree.XMLParser(
        resolve_entities="internal",  # pyright: ignore[reportArgumentType]  the stubs know only booleans
        load_dtd=False,
        no_network=True,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    data, unknown = with_characters(data)
    try:
        root: Element | None = etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        raise DocumentError("corrupt", f"not well-formed XML: {error.msg}") from error
    if root is None:
        raise DocumentError("corrupt", "no element in the file")
    for element in root.iter():
        element.text, element.tail = without_unseen(element.text or ""), without_unseen(element.tail or "")
    return root, unknown


def local(element: Element) -> str:
    """The element's name without its namespace; empty for entity references and other non-elements."""
    tag = cast("object", element.tag)  # the tag of anything that is not an element is a function
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def children(element: Element) -> list[Element]:
    """The child elements."""
    return [child for child in element if local(child)]


def named(element: Element, *names: str) -> list[Element]:
    """The child elements with one of these names."""
    return [child for child in element if local(child) in names]


def first(element: Element | None, *path: str) -> Element | None:
    """The first element down a path of child names, or None."""
    for name in path:
        if element is None:
            return None
        element = next((child for child in element if local(child) == name), None)
    return element


def below(element: Element, *names: str) -> Iterator[Element]:
    """All descendants with one of these names, in document order."""
    return (each for each in element.iter() if each is not element and local(each) in names)


def text_of(element: Element) -> str:
    """All text below an element, without markup."""
    return "".join(str(part) for part in element.itertext())


def line_of(element: Element | None) -> str:
    """All text below an element, single-spaced; empty for None."""
    return "" if element is None else " ".join(text_of(element).split())


def href(element: Element) -> str | None:
    """The `xlink:href` of the first picture below an element, or else of a `media` child; None if there is neither."""
    for picture in (*below(element, "graphic", "inline-graphic"), *named(element, "media")):
        if found := picture.get(HREF) or picture.get("href"):
            return found
    return None


def formula_text(formula: Element) -> str:
    """A formula's content as one line without its label: TeX as `$TeX$`, else MathML in a line, with the text around them. U+FFFD when the
    formula is only a picture."""
    has_tex = any(local(one) == "tex-math" and tex_text(text_of(one)) for one in formula)
    pictures = "inline-graphic" * (local(formula) == "alternatives" and len(formula) > 1)
    skipped = ("", "label", "math" if has_tex else "tex-math", pictures)
    parts = [formula.text or ""]
    for child in formula:
        if local(child) not in skipped:
            add_text(child, parts)
        parts.append(child.tail or "")
    is_picture = next(below(formula, "graphic", "inline-graphic"), None) is not None
    return tidy("".join(parts)) or UNREADABLE * is_picture


def tex_text(source: str) -> str:
    """TeX on one line without document wrapping, math delimiters such as `$`, and layout commands."""
    found = _DOCUMENT.search(source)
    tex = _TEX_COMMENT.sub("", _PREAMBLE.sub("", found[1] if found else source)).strip()
    for fence in _FENCES:
        tex = tex.removeprefix(fence).removesuffix(fence).strip()
    environment = _ENVIRONMENT.fullmatch(tex)
    if environment and "\\begin{" + environment[1] not in environment[3]:
        tex = environment[3].strip()
    return " ".join(_NOISE.sub("", tex).replace("\\:", " ").split())


def math_text(math: Element) -> str:
    """Presentation MathML on one line: `x_i^2`, `(a + b)/c`, `sqrt(x)`, `cancel(x)` for a struck term; table rows are separated by `; `."""
    return _SIGNED.sub(r"\1\2", " ".join(_linear(math).split()))


def _linear(element: Element) -> str:
    name = local(element)
    if name in ("annotation", "annotation-xml", "mphantom"):
        return ""
    if name == "mfrac" and (element.get("linethickness") or "").startswith("0"):
        return "; ".join(_parts(children(element), 2))
    if name in _LAYOUT:
        return _LAYOUT[name](children(element))
    if name == "mo":
        return _operator("".join(text_of(element).split()))
    if name in ("mi", "mn", "ms", "mtext", "ci", "cn"):
        pictures = (one.get("alt") or UNREADABLE for one in below(element, "mglyph"))
        words = " ".join((text_of(element) + "".join(pictures)).split())
        return f" {words} " if name == "mtext" and len(words) > 1 else words
    if name == "mspace":
        return " "
    if name == "mfenced":
        signs = "".join(element.get("separators", ",").split())[:1]  # different signs are hardly ever used
        texts = [_linear(one).strip() for one in children(element)] if signs else [_row(children(element))]
        return element.get("open", "(") + _operator(signs).join(texts) + element.get("close", ")")
    if name == "menclose":
        return _enclosed(_row(children(element)).strip(), element.get("notation") or "")
    return _row(children(element))


def _enclosed(text: str, notation: str) -> str:
    """A term with a line or a shape on it. Boxes are left out."""
    if notation.strip() == "top":
        return _accented(text, "\u00af")
    return next((form.format(text) for name, form in _ENCLOSED.items() if name in notation), text)


def _row(elements: list[Element]) -> str:
    """Elements side by side. A space keeps a script, a denominator or a number apart from what follows."""
    text, last = "", "-"
    for part in map(_linear, elements):
        glued, after = _GLUED.search(text[-60:]), text[-1:].isalnum() or text.endswith((")", "]"))
        apart = not last and text[-1:].isdigit() and part[:1].isdigit()  # an invisible operator is between
        apart |= bool(glued) and (part[:1].isalnum() or (part[:1] == "(" and glued[0][0] == "/"))
        apart |= after and bool(_PARTED.match(part)) and not _is_enclosed(part)
        text += " " * apart + part
        last = part
    return text


def _operator(sign: str) -> str:
    if sign in _SPACED:
        return f" {sign} "
    return f"{sign} " if sign in (",", ";") else sign


def _grouped(text: str) -> str:
    """An operand in parentheses, unless one pair of brackets encloses it, or it is a single name, number or symbol."""
    text = " ".join(text.split())
    return text if not text or _ATOM.fullmatch(text) or _is_enclosed(text) else f"({text})"


def _is_enclosed(text: str) -> bool:
    """Whether one pair of brackets or bars encloses the whole text. "(a)(b)" has two pairs."""
    if text[0] == "|":
        return text[-1] == "|" and text.count("|") == 2
    return text[-1] in ")]}" and 0 not in list(accumulate(_DEPTHS.get(sign, 0) for sign in text))[:-1]


def _parts(elements: list[Element], count: int) -> list[str]:
    texts = [_linear(element).strip() for element in elements[:count]]
    return texts + [""] * (count - len(texts))


def _both(elements: list[Element]) -> str:
    base, low, high = _parts(elements, 3)
    text = _base(base) + (f"_{_grouped(low)}" if low else "")
    return f"{text}°" if high in _DEGREES else text + (f"^{_grouped(high)}" if high else "")


def _base(text: str) -> str:
    """The base of a script: a fraction in parentheses, anything else as it is shown."""
    return f"({text})" if _FRACTION.fullmatch(text) and not _is_enclosed(text) else text


def _accented(base: str, mark: str) -> str:
    if mark in _ACCENTS and len(base) == 1:
        return base + _ACCENTS[mark]
    return f"{_grouped(base) if ' ' in base else base}^{_grouped(mark)}" if mark else base


def _matrix(rows: list[Element]) -> str:
    """Rows separated by `; `, and their cells by `, `; an empty cell before others is a box. The cells of aligned equations are joined by spaces."""
    texts = [_parts(children(row), len(row)) for row in rows]
    aligned = any(text.startswith(_RELATIONS) or text.endswith(_RELATIONS) for row in texts for text in row)
    if aligned or any(local(row) == "mlabeledtr" for row in rows):
        return "; ".join(" ".join(filter(None, row)) for row in texts)
    shown = (", ".join(text.rstrip(",") or "\u25a1" for text in row) for row in texts)
    return "; ".join(row.rstrip("\u25a1, ") for row in shown)


def _multiscripts(elements: list[Element]) -> str:
    """A base with scripts on its right and on its left, such as a nuclide: `_92^235U`."""
    cut = next((n for n, one in enumerate(elements) if local(one) == "mprescripts"), len(elements))
    sides = elements[cut + 1 :], elements[1:cut]
    left, right = ("".join(_both([_NIL, *one[n : n + 2]]) for n in range(0, len(one), 2)) for one in sides)
    return left + "".join(map(_linear, elements[:1])).strip() + right


def _nth_root(elements: list[Element]) -> str:
    base, index = _parts(elements, 2)
    return f"root_{_grouped(index)}({base})"


_NIL = etree.Element("none")
_LAYOUT: dict[str, Callable[[list[Element]], str]] = {
    **dict.fromkeys(("msub", "munder", "msubsup", "munderover"), _both),
    "msup": lambda elements: _both([*elements[:1], _NIL, *elements[1:2]]),
    "mover": lambda elements: _accented(*_parts(elements, 2)),
    "mfrac": lambda elements: "/".join(map(_grouped, _parts(elements, 2))),
    "msqrt": lambda elements: f"sqrt({_row(elements).strip()})",
    "mroot": _nth_root,
    "mtable": _matrix,
    **dict.fromkeys(("mstack", "mlongdiv"), lambda rows: "; ".join(filter(None, _parts(rows, len(rows))))),
    "mmultiscripts": _multiscripts,
    **dict.fromkeys(("semantics", "maction"), lambda elements: "".join(map(_linear, elements[:1]))),
    "apply": lambda _: UNREADABLE,  # content MathML: a meaning without a layout
}


def inline(element: Element | None) -> str:
    """An element's text on one line, without block elements inside it. Empty for None."""
    return "" if element is None else tidy(_text(element))


def segments(element: Element, without: frozenset[str] = frozenset()) -> Iterator[str]:
    """The text of an element with blocks or notes, such as a cell: the texts between and within these, except elements named `without`."""
    parts = [element.text or ""]
    for child in element:
        if local(child) in _BREAKING - without:
            yield tidy("".join(parts))
            parts = []
            if local(child) in ("graphic", "media"):
                yield UNREADABLE
            yield from [formula_text(child)] if local(child) == "disp-formula" else segments(child)
        elif local(child):
            add_text(child, parts)
        parts.append(child.tail or "")
    yield tidy("".join(parts))


def tidy(text: str) -> str:
    """The text with single spaces, without spaces before closing marks or after opening brackets, and without empty brackets."""
    text = " ".join(text.split())
    return _AFTER.sub("", _BEFORE.sub("", _EMPTY.sub("", text)))


def _text(element: Element) -> str:
    parts: list[str] = []
    _collect(element, parts)
    return "".join(parts)


def _last(parts: list[str]) -> str:
    """The last character so far; empty at the start."""
    return next((part[-1] for part in reversed(parts) if part), "")


def _collect(element: Element, parts: list[str]) -> None:
    parts.append(element.text or "")
    for child in element:
        if local(child):
            add_text(child, parts)
        parts.append(child.tail or "")


def add_text(element: Element, parts: list[str]) -> None:
    """Add the text of an inline element to the preceding texts, without its tail."""
    name = local(element)
    if name in _DROPPED or name in BLOCKS or is_struck(element):
        return
    if name in ("break", "p", "title") and parts:
        parts.append(" ")
    _SPECIAL.get(name, _collect)(element, parts)


def is_struck(element: Element) -> bool:
    """Whether the text of an element is struck out."""
    kinds = " ".join(element.get(name) or "" for name in ("style", "style-type", "content-type"))
    return local(element) == "strike" or "line-through" in kinds or "strike" in kinds


def _space_after(element: Element, text: str) -> str:
    """A space if a number follows the digits of a script."""
    return " " * (text[-1:].isdigit() and (element.tail or "")[:1].isdigit())


def _superscript(element: Element, parts: list[str]) -> None:
    text, before = tidy(_text(element)), _last(parts)
    if not text:
        return
    attached, previous = bool(before) and not before.isspace(), "".join(parts[-3:]).rstrip()[-1:]
    begins = (element.tail or "")[:1].isalpha() or (not element.tail and element.getnext() is not None)
    attached |= previous.isdigit() and not begins
    attached |= previous.isalnum() and text[0] in "-\u2013\u2212"
    if _is_numerator(element):
        parts.append(f" {text}" if before.isdigit() else text)
    elif any(local(one) == "xref" and one.get("ref-type") == "bibr" for one in element.iter()):
        parts.append(text if text.startswith(("[", "(")) else f"{' ' if attached else ''}[{text}]")
    elif text in ("o", "∘") and previous.isdigit():
        parts.append("°")
    elif not attached or before in "([" or _ORDINAL.fullmatch(text) or _continues_marks(element):
        parts.append(text + _space_after(element, text))
    else:
        mark = f"^({text})" if " " in text or _COMPOUND.search(text) else f"^{text}"
        parts.append(mark + _space_after(element, mark))


def _is_numerator(element: Element) -> bool:
    """Whether a raised number is the numerator of a fraction, as in `2<sup>1</sup>/<sub>2</sub>`."""
    after = element.getnext()
    return (element.tail or "").strip() in ("/", "\u2044") and after is not None and local(after) == "sub"


def _continues_marks(element: Element) -> bool:
    """Whether only a comma, a semicolon or a dash separates a mark from the preceding mark, or two superscripts touch."""
    before = element.getprevious()
    between = "" if before is None else before.tail or ""
    is_mark = bool(_BETWEEN_MARKS.fullmatch(between)) or (not between and local(element) == "sup")
    return is_mark and before is not None and local(before) == local(element)


def _reference(element: Element, parts: list[str]) -> None:
    """Write a reference. `^` separates a mark from the word or number that it follows."""
    inner, before = _text(element), _last(parts)
    is_mark = element.get("ref-type", "bibr") in _MARKING and _MARK.fullmatch(tidy(inner)) is not None
    parted = not before or before.isspace() or before in "([^-\u2013/" or _continues_marks(element)
    parts.append(f"^{tidy(inner)}" if is_mark and not parted else inner)


def _subscript(element: Element, parts: list[str]) -> None:
    inner = f"_({inner})" if _SHIFTED.fullmatch(inner := _text(element)) else inner
    number = _last(parts).isdigit() and inner.lstrip("-\u2212")[:1].isdigit()
    parts.append("_" * number + inner + _space_after(element, inner))


def _identifier(element: Element, parts: list[str]) -> None:
    # Numbers of literature databases mean nothing to a reader. Publishers put no separator before identifiers.
    if element.get("pub-id-type") not in ("pmid", "pmcid"):
        parts.append(" " * (_last(parts).strip() not in ("", "/", ":", "(")))
        _collect(element, parts)


def person(name: Element, *, given_first: bool = False) -> str:
    """A `name` or `string-name` as "Surname Given Suffix", or with `given_first` as "Given Surname Suffix"."""
    found = {local(one): " ".join(text_of(one).split()) for one in name}
    surname, given = found.get("surname", ""), found.get("given-names", "")
    if not surname and not given:
        return " ".join(text_of(name).split())
    ordered = (given, surname) if given_first else (surname, given)
    return " ".join(part for part in (*ordered, found.get("suffix", "")) if part)


_SPECIAL: dict[str, Callable[[Element, list[str]], None]] = {
    "sup": _superscript,
    "sub": _subscript,
    "xref": _reference,
    **dict.fromkeys(
        ("inline-graphic", "private-char"),
        lambda element, parts: parts.append(line_of(next(below(element, "alt-text"), None)) or UNREADABLE),
    ),
    "inline-formula": lambda element, parts: parts.append(formula_text(element)),
    "alternatives": lambda element, parts: parts.append(formula_text(element)),
    "tex-math": lambda element, parts: parts.append(f"${tex_text(text_of(element))}$"),
    "math": lambda element, parts: parts.append(math_text(element) or element.get("alttext") or ""),
    "overline": lambda element, parts: parts.append(re.sub(r"(\w)", "\\1\u0304", _text(element))),
    "fn": lambda element, parts: parts.append(f"^{line_of(first(element, 'label'))}".removesuffix("^")),
    "pub-id": _identifier,
    **dict.fromkeys(("name", "string-name"), lambda element, parts: parts.append(person(element))),
}
