"""Splits texts of items into prose, formulas and figures, and writes them as HTML and as XML of Moodle questions.

Formulas become MathML, or stand between \\( \\) for pages that typeset them by script. Models wrote the formulas. So the converter to
MathML escapes its output, and knows no command that could load, link or run anything. Only this module uses the converter.
"""

import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from html import escape, unescape
from itertools import groupby
from typing import Literal, NamedTuple, TypeAlias

from lxml import etree
from math_core import LatexError, LatexToMathML

from qagen_dagster.records.ids import digest

Kind = Literal["prose", "inline", "display", "figure"]
_FENCES: tuple[tuple[str, str, Kind], ...] = (
    ("$$", "$$", "display"),
    ("$", "$", "inline"),
    ("\\[", "\\]", "display"),
    ("\\(", "\\)", "inline"),
    ("\\begin{tikzpicture}", "\\end{tikzpicture}", "figure"),
    ("\\begin{circuitikz}", "\\end{circuitikz}", "figure"),
)
FORMULAS = ("inline", "display")
_SPECIAL = re.compile(r"[$\\]")  # a fence or an escaped dollar sign begins with one of these
_GAP = re.compile(r"\n\s*\n")
_COMMENT = re.compile(r"(?<!\\)%.*")
_REFERENCE = re.compile(rb"figure-([0-9a-f]{16})")
_LONGEST_ALT = 500  # characters
_NOT_DRAWN = "<svg xmlns='http://www.w3.org/2000/svg' width='240' height='40'><text y='25'>The figure is not drawn.</text></svg>"
Figures: TypeAlias = Mapping[str, bytes]  # PNG or JPEG by figure_id


class Segment(NamedTuple):
    """A piece of a text. A formula is without its delimiters. A figure is the whole TikZ environment."""

    kind: Kind
    text: str


def split(text: str) -> list[Segment]:
    r"""The prose, formulas and figures of a text, in order. `\$` is a dollar sign in prose. An unclosed delimiter is prose, too."""
    found: list[Segment] = []
    prose: list[str] = []
    hopeless: set[str] = set()  # closing delimiters that do not occur any more, so that time is linear
    at = 0
    while at < len(text):
        if text.startswith("\\$", at):
            prose.append("$")
            at += 2
            continue
        formula = _formula(text, at, hopeless)
        if formula is None:
            special = _SPECIAL.search(text, at + 1)
            end = special.start() if special else len(text)
            prose.append(text[at:end])
            at = end
            continue
        if prose:
            found.append(Segment("prose", "".join(prose)))
            prose.clear()
        segment, at = formula
        found.append(segment)
    if prose:
        found.append(Segment("prose", "".join(prose)))
    return found


def xml_text(text: str) -> str:
    """`text` without carriage returns and without the characters that XML cannot hold."""
    return "".join(
        char for char in text if char in "\t\n" or (char >= " " and not 0xD800 <= ord(char) <= 0xDFFF
                                                    and char not in "\ufffe\uffff")
    )  # fmt: skip


def _formula(text: str, at: int, hopeless: set[str]) -> tuple[Segment, int] | None:
    for opening, closing, kind in _FENCES:
        if not text.startswith(opening, at) or closing in hopeless:
            continue
        start = at + len(opening)
        end = _closing(text, closing, start)
        if end < 0:
            hopeless.add(closing)
        elif kind == "figure":
            return Segment(kind, text[at : end + len(closing)]), end + len(closing)
        elif text[start:end].strip():
            return Segment(kind, text[start:end].strip()), end + len(closing)
    return None


def _closing(text: str, fence: str, start: int) -> int:
    end = text.find(fence, start)
    while fence.startswith("$") and end > 0 and text[end - 1] == "\\":
        end = text.find(fence, end + 1)
    return end


Element: TypeAlias = etree._Element  # pyright: ignore[reportPrivateUsage]  lxml has no public name

NAMESPACE = "http://www.w3.org/1998/Math/MathML"
LONGEST = 4000  # characters; longer formulas are shown as written
_ENTITY = re.compile(r"&(?!(?:amp|lt|gt|quot|apos);)[A-Za-z]+;")  # HTML entities that XML does not have
_KEPT = {  # attributes that MathML 2, 3 and Core all have
    "math": {"display"},
    "mi": {"mathvariant"},
    "mo": {"stretchy", "form", "fence", "minsize", "maxsize", "largeop"},
    "mspace": {"width"},
    "mfrac": {"linethickness"},
    "mover": {"accent"},
    "munder": {"accentunder"},
}


def mathml(latex: str, *, display: bool = False) -> str | None:
    """A `math` element as well-formed XML with its namespace; None if the formula cannot be converted."""
    if len(latex) > LONGEST:
        return None
    try:
        found = _converter().convert_with_local_state(xml_text(latex), displaystyle=display)
    except LatexError:
        return None
    return _ENTITY.sub(lambda entity: unescape(entity[0]), found)


def plain_mathml(latex: str, *, display: bool = False) -> Element | None:
    """The `math` element with only the attributes that every version of MathML has, for strict or old readers; None as for `mathml`."""
    found = mathml(latex, display=display)
    if found is None:
        return None
    root = etree.fromstring(found, etree.XMLParser(resolve_entities=False, no_network=True))
    for element in list(root.iter()):
        _simplify(element)
    return root


def _simplify(element: Element) -> None:
    name = etree.QName(element).localname
    style = element.get("displaystyle")
    for key in set(map(str, element.attrib)) - _KEPT.get(name, set[str]()):
        del element.attrib[key]
    parent = element.getparent()
    if style is None or parent is None:
        return
    wrapper = etree.SubElement(parent, f"{{{NAMESPACE}}}mstyle", {"displaystyle": style})
    parent.replace(element, wrapper)
    wrapper.append(element)


@cache
def _converter() -> LatexToMathML:
    return LatexToMathML(xml_namespace=True, fancy_error=False, max_expansions=200)


def with_mathml(text: str) -> str:
    """Inline HTML that is also well-formed XML. A formula that cannot be converted is shown as it was written."""
    return _html(
        text,
        lambda segment, escaped: (
            mathml(segment.text, display=segment.kind == "display") or f"<code>{escaped}</code>"
        ),
    )


def with_fences(text: str) -> str:
    r"""Inline HTML whose formulas stand between \( \) or \[ \]."""
    return _html(
        text, lambda segment, escaped: rf"\[{escaped}\]" if segment.kind == "display" else rf"\({escaped}\)"
    )


def paragraphs(text: str, flow: Callable[[str], str]) -> str:
    """A `p` element for each part between empty lines. `flow` makes the HTML of a part."""
    groups = groupby(tight(text).splitlines(), key=lambda line: bool(line.strip()))
    parts = ("\n".join(lines).strip() for is_text, lines in groups if is_text)
    shown = "".join(f"<p>{flow(part)}</p>" for part in parts)
    return shown.replace('alt="figure"', f'alt="{escape(figure_alt(text))}"')


def figures_of(*texts: str) -> list[str]:
    """The figures of texts: the code of their TikZ environments."""
    return [one.text for text in texts for one in split(text) if one.kind == "figure"]


def tight(text: str) -> str:
    """The text without empty lines in its figures."""
    for code in figures_of(text):
        text = text.replace(code, _GAP.sub("\n", code))
    return text


def figure_id(code: str) -> str:
    """Sixteen hexadecimal digits of a hash of the code of a figure. Spaces and comments do not change the id."""
    return digest("".join(_COMMENT.sub("", code).split()))[:16]


def figure_alt(text: str) -> str:
    """The alternative text for the figures in a text: the other parts of the text, shortened; "figure" if there are no other parts."""
    rest = " ".join(" ".join(one.text for one in split(text) if one.kind != "figure").split())
    return xml_text(rest[:_LONGEST_ALT]) or "figure"


def figure_type(picture: bytes) -> str:
    """The media type of a drawn figure."""
    return "image/png" if picture.startswith(b"\x89PNG") else "image/jpeg"


def with_figures(data: bytes, figures: Figures) -> bytes:
    """A file with pictures, as data URIs, in place of its references to figures. In place of a missing picture, words are shown."""

    def uri(found: re.Match[bytes]) -> bytes:
        picture = figures.get(found[1].decode())
        kind, shown = (
            ("image/svg+xml", _NOT_DRAWN.encode()) if picture is None else (figure_type(picture), picture)
        )
        return f"data:{kind};base64,{b64encode(shown).decode()}".encode()

    return _REFERENCE.sub(uri, data)


def _html(text: str, formula: Callable[[Segment, str], str]) -> str:
    """HTML of a text. `formula` makes the HTML of a formula from its segment and its escaped text. Figures become references."""
    found: list[str] = []
    for segment in split(text):
        if segment.kind == "figure":
            found.append(f'<img src="figure-{figure_id(segment.text)}" alt="{escape(figure_alt(text))}"/>')
            continue
        escaped = escape(xml_text(segment.text), quote=False)
        is_prose = segment.kind == "prose"
        found.append(escaped.replace("\n", "<br/>") if is_prose else formula(segment, escaped))
    return "".join(found)


def text_of(parent: Element, name: str, value: str) -> Element:
    """Add a child `name` whose element `text` has `value`. Returns the child."""
    child = etree.SubElement(parent, name)
    etree.SubElement(child, "text").text = xml_text(value)
    return child


def html_of(parent: Element, name: str, value: str) -> Element:
    """Add a child as `text_of` does, and mark its text as HTML. Returns the child."""
    child = text_of(parent, name, value)
    child.set("format", "html")
    return child


LONGEST_ID = 100  # characters: the width of Moodle's database column


def moodle_question(kind: str, name: str, text: str, feedback: str) -> Element:
    """A question for Moodle's question bank. `text` and `feedback` are HTML."""
    question = etree.Element("question", {"type": kind})
    text_of(question, "name", name)
    html_of(question, "questiontext", text)
    html_of(question, "generalfeedback", feedback)
    return question


def add_settings(question: Element, **settings: str) -> None:
    """Add an element for each setting, in the order of the settings."""
    for name, value in settings.items():
        etree.SubElement(question, name).text = value


def add_tags(question: Element, *tags: str) -> None:
    parent = etree.SubElement(question, "tags")
    for tag in tags:
        text_of(parent, "tag", tag)


def moodle_file(title: str, groups: Iterable[tuple[str, Iterable[Element]]]) -> dict[str, bytes]:
    """The only file of an export to Moodle. Each group of questions is in a category of its own below `title`."""
    root = etree.Element("quiz")
    for name, questions in groups:
        # A pseudo question puts the questions after it into a category. Moodle reads `//` in a name as a slash.
        path = "/".join(" ".join(step.replace("/", "//").split()) for step in (title, name))
        category = etree.SubElement(root, "question", {"type": "category"})
        text_of(category, "category", f"$course$/top/{path}")
        root.extend(list(questions))
    etree.indent(root, " ")
    return {"moodle.xml": etree.tostring(root, xml_declaration=True, encoding="UTF-8") + b"\n"}


def exported(files: Mapping[str, bytes], figures: Figures) -> dict[str, bytes]:
    """The files of an export of a bank, with pictures in place of their references to figures."""
    return {path: with_figures(data, figures) for path, data in files.items()}
