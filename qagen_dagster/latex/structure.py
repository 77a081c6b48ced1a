"""The structure of a TeX text: its code without comments and verbatim text, its items, the parts of an item, and unbalanced marks."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from qagen_dagster.records.problems.result import BankOption
from qagen_dagster.records.problems.submissions import ANSWER_MARK

_VERBATIM_NAMES = (
    "verbatim*", "verbatim", "Verbatim*", "Verbatim", "BVerbatim", "lstlisting", "minted", "comment", "filecontents*", "filecontents",
)  # fmt: skip
_NAMES = "|".join(re.escape(name) for name in _VERBATIM_NAMES)
_SPECIAL = re.compile(
    rf"\\begin[ \t]*\{{(?P<name>{_NAMES})\}}|\\(?P<verb>verb\*?|lstinline)(?=[^A-Za-z\s*\[{{])"
    r"|(?P<off>\\iffalse)(?![A-Za-z@])|\\(?P<escaped>[^A-Za-z])|(?P<comment>%)",
    re.DOTALL,
)
_VISIBLE = re.compile(r"[^\n]")
_ESCAPED = re.compile(r"\\[^A-Za-z\n]")
_OFF = re.compile(r"\\fi(?![A-Za-z@])")
_MARK = re.compile(
    r"\\(?P<kind>begin|end)\s*\{(?P<name>[^{}\n]{1,60})\}|(?P<item>\\item)(?![A-Za-z@])|(?P<brace>[{}])"
)
_DOCUMENT = re.compile(r"\\begin\s*\{document\}")
_OVER = re.compile(r"\\end\s*\{document\}")
_SOLUTION = re.compile(r"\\begin\s*\{solution\*?\}")
PICTURES = ("tikzpicture", "circuitikz")  # drawing environments
_MOST_FAULTS = 6
_ENVIRONMENT = re.compile(r"\\(begin|end)\s*\{([^{}\n]{1,60})\}")
_NESTING = re.compile(rf"{_ENVIRONMENT.pattern}|[{{}}]")
_ITEM = re.compile(r"\\item(?![A-Za-z@])")
_TASK = re.compile(r"\\task(?:[*!](?:\(\d{1,2}\))?|(?![A-Za-z@]))(?:[ \t]*\[[^\]\n]{0,40}\])?")
_RIGHT = re.compile(rf"{re.escape(ANSWER_MARK)}(?![A-Za-z@])")
_SIZED = re.compile(r"\\(left|right)(?![A-Za-z@])")
_DOLLAR = re.compile(r"\$\$?|\n[ \t]*\n|\\begin[ \t]*\{(?:solution|tasks|document)\}")


def code_of(latex: str) -> str:
    r"""The text, in which comments, verbatim text and the text from `\iffalse` to `\fi` are blanked. Positions do not change."""
    return "".join(_pieces(latex))


def plain_of(latex: str) -> str:
    r"""As `code_of`, but escaped signs such as `\{`, `\%`, `\(` and `\\` are blanked, too. Positions do not change."""
    return _ESCAPED.sub("  ", code_of(latex))


def blanked(text: str) -> str:
    """The text, in which each character except line breaks is replaced by a space."""
    return _VISIBLE.sub(" ", text)


def _pieces(latex: str) -> Iterator[str]:
    place = 0
    while (found := _SPECIAL.search(latex, place)) is not None:
        if found.group("escaped"):
            yield latex[place : found.end()]
            place = found.end()
            continue
        stop = _stop(latex, found)
        yield latex[place : found.start()]
        yield blanked(latex[found.start() : stop])
        place = stop
    yield latex[place:]


def _stop(latex: str, found: re.Match[str]) -> int:
    r"""The end of the part to blank. An unclosed part extends to the end of the text; of an unclosed `\verb`, only the name is blanked."""
    if found.group("comment"):
        return _or_end(latex, latex.find("\n", found.end()))
    if found.group("verb"):
        line = _or_end(latex, latex.find("\n", found.end()))
        closing = latex.find(latex[found.end()], found.end() + 1, line)
        return found.end() if closing < 0 else closing + 1
    if found.group("off"):
        closing_fi = _OFF.search(latex, found.end())
        return closing_fi.end() if closing_fi else len(latex)
    closing = rf"\end{{{found.group('name')}}}"
    place = latex.find(closing, found.end())
    return len(latex) if place < 0 else place + len(closing)


def _or_end(latex: str, place: int) -> int:
    return len(latex) if place < 0 else place


@dataclass(frozen=True)
class Piece:
    r"""A part of a TeX text: an item from `\item` to the next item or the end of its list, or the text outside items."""

    text: str
    is_item: bool = False


@dataclass(frozen=True)
class TexItems:
    """A TeX text in pieces. The joined pieces are the text, character for character."""

    pieces: tuple[Piece, ...]
    preamble: str = ""  # the text before the document; empty in a fragment

    @property
    def items(self) -> tuple[str, ...]:
        """The items in order, each with its trailing white space."""
        return tuple(piece.text for piece in self.pieces if piece.is_item)

    @property
    def bare_items(self) -> tuple[str, ...]:
        """The items without trailing white space and comments, because a comment after an item is about the next item."""
        return tuple(_without_tail(item) for item in self.items)

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self.pieces)


def split_items(latex: str) -> TexItems:
    """Split a document or a fragment into its items. A text without items is one piece. If some lists have solutions, only the items of
    these lists count."""
    plain = plain_of(latex)
    document = _DOCUMENT.search(plain)
    over = _OVER.search(plain)
    start = document.end() if document else 0
    stop = over.start() if over and over.start() >= start else len(latex)
    lists = _lists(plain, start, stop)
    solved = [frame for frame in lists if _SOLUTION.search(plain, frame.starts[0], frame.end)]
    cuts = [
        cut for frame in sorted(solved or lists, key=lambda frame: frame.starts[0]) for cut in frame.spans()
    ]
    pieces, place = list[Piece](), 0
    for begin, end in cuts:
        if begin > place:
            pieces.append(Piece(latex[place:begin]))
        pieces.append(Piece(latex[begin:end], is_item=True))
        place = end
    if place < len(latex):
        pieces.append(Piece(latex[place:]))
    return TexItems(tuple(pieces), latex[: document.start()] if document else "")


@dataclass
class _Frame:
    """An open environment: its name, the brace depth around it, where its own items begin."""

    name: str
    braces: int
    starts: list[int] = field(default_factory=list[int])
    end: int = 0

    def spans(self) -> list[tuple[int, int]]:
        return list(pairwise((*self.starts, self.end)))


class _Reader:
    """Tracks environments and braces, and collects the outermost environments that have items."""

    def __init__(self) -> None:
        self.lists: list[_Frame] = []
        self._open = [_Frame("", 0)]
        self._names = Counter[str]()
        self._listing = 0  # number of open environments with items
        self._braces = 0

    def read(self, mark: re.Match[str]) -> None:
        if mark.group("brace"):
            self._braces = max(0, self._braces + (1 if mark.group() == "{" else -1))
        elif mark.group("item"):
            self._item(mark.start())
        elif mark.group("kind") == "begin":
            self._open.append(_Frame(mark.group("name"), self._braces))
            self._names[mark.group("name")] += 1
        else:
            self._close(mark.group("name"), mark.start())

    def finish(self, place: int) -> None:
        while self._open:
            self._leave(place)

    def _item(self, place: int) -> None:
        """Record an item, unless it stands in a nested list or in a group of braces, such as a definition."""
        frame = self._open[-1]
        nested = self._listing > bool(frame.starts)
        if not nested and self._braces <= frame.braces:
            self._listing += not frame.starts
            frame.starts.append(place)

    def _close(self, name: str, place: int) -> None:
        """Close the environment and those still open in it; an end without a beginning is ignored."""
        while self._names[name]:
            if self._leave(place) == name:
                return

    def _leave(self, place: int) -> str:
        frame = self._open.pop()
        frame.end = place
        self._braces = frame.braces
        self._names[frame.name] -= 1
        if frame.starts:
            self._listing -= 1
            self.lists.append(frame)
        return frame.name


def _lists(plain: str, start: int, stop: int) -> list[_Frame]:
    reader = _Reader()
    for mark in _MARK.finditer(plain, start, stop):
        reader.read(mark)
    reader.finish(stop)
    return reader.lists


def _without_tail(item: str) -> str:
    end = len(code_of(item).rstrip())
    lines = (line.strip() for line in item[end:].split("\n"))
    return item[:end] if all(line[:1] in ("", "%") for line in lines) else item.rstrip()


def structure_faults(latex: str) -> tuple[str, ...]:
    """Descriptions of unbalanced braces, environments and mathematics, for the author of the text."""
    code, plain = code_of(latex), plain_of(latex)
    faults = (*_nesting(plain), *_dollars(plain), *_pairs(code.replace("\\\\", "  "), plain))
    return faults[:_MOST_FAULTS]


def item_faults(latex: str) -> tuple[str, ...]:
    r"""The reasons why the text is not one item with its solution, from `\item` to `\end{solution}`; empty if it is."""
    text = latex.strip()
    return (*_ends(text), *structure_faults(text))


def has_environment(latex: str, name: str) -> bool:
    r"""Whether the text contains `\begin{name}`."""
    return any(mark.group(1) == "begin" and mark.group(2) == name for mark in _marks(latex))


def environments(latex: str, name: str) -> tuple[tuple[int, int], ...]:
    """The start and the end of each outermost environment `name`. The end is the position after the environment."""
    found: list[tuple[int, int]] = []
    depth, start = 0, 0
    for mark in _marks(latex):
        if mark.group(2) != name:
            continue
        if mark.group(1) == "begin":
            start = mark.start() if depth == 0 else start
            depth += 1
        elif depth:
            depth -= 1
            if depth == 0:
                found.append((start, mark.end()))
    return tuple(found)


def statement_of(latex: str) -> str:
    r"""The text between `\item` and the solution, with options."""
    plain = plain_of(latex)
    first = _ITEM.search(plain)
    start = first.end() if first and not plain[: first.start()].strip() else 0
    solutions = environments(latex, "solution")
    return latex[start : solutions[0][0] if solutions else len(latex)].strip()


def question_of(latex: str) -> str:
    """The statement without its tasks environments."""
    asked = statement_of(latex)
    for start, end in reversed(environments(asked, "tasks")):
        asked = f"{asked[:start].rstrip()}\n{asked[end:].lstrip()}"
    return asked.strip()


def solution_of(latex: str) -> str:
    """The content of the first solution environment; empty if there is none."""
    marks = [mark for mark in _marks(latex) if mark.group(2) == "solution"]
    for start, end in environments(latex, "solution"):
        opening = next(mark for mark in marks if mark.start() == start)
        closing = next(mark for mark in marks if mark.end() == end)
        return latex[opening.end() : closing.start()].strip()
    return ""


def options_of(latex: str) -> tuple[BankOption, ...]:
    """The options in the tasks environments of the text, in order."""
    return tuple(
        option for start, end in environments(latex, "tasks") for option in _options(latex[start:end])
    )


def tikz_pictures(latex: str) -> tuple[str, ...]:
    """The outermost drawing environments, unchanged."""
    spans = sorted(span for name in PICTURES for span in environments(latex, name))
    outer = [
        span
        for span in spans
        if not any(other[0] <= span[0] and span[1] <= other[1] and other != span for other in spans)
    ]
    return tuple(latex[start:end] for start, end in outer)


def _marks(latex: str) -> list[re.Match[str]]:
    return list(_ENVIRONMENT.finditer(plain_of(latex)))


def _options(tasks: str) -> Iterator[BankOption]:
    plain = plain_of(tasks)
    marks = list(_TASK.finditer(plain))
    last = plain.rfind(r"\end")
    for mark, following in zip(marks, [*(later.start() for later in marks[1:]), last], strict=True):
        rights = [found.span() for found in _RIGHT.finditer(plain, mark.end(), following)]
        text, place = "", mark.end()
        for start, end in (*rights, (following, following)):
            text, place = f"{text} {tasks[place:start]}", end
        yield BankOption(text=" ".join(text.split()), right=bool(rights))


def _ends(text: str) -> Iterator[str]:
    plain = plain_of(text)
    if not _ITEM.match(plain):
        yield r"it does not begin with \item"
    if not re.search(r"\\end[ \t]*\{solution\}\Z", plain):
        yield r"it does not end with \end{solution}"
    solutions = len(environments(text, "solution"))
    if solutions != 1:
        yield f"it has {solutions} complete solution environments instead of one"
    elif not code_of(solution_of(text)).strip():
        yield "its solution is empty"
    if not re.search(r"[^\W\d_]", code_of(statement_of(text))):
        yield "its statement is empty"
    items = len(split_items(text).items)
    if items > 1:
        yield rf"it has {items} \item of its own level instead of one"


def _nesting(plain: str) -> Iterator[str]:
    """Unbalanced braces and environments; a group that cuts an environment in two is a fault."""
    opened: list[str] = []
    for mark in _NESTING.finditer(plain):
        kind, name = mark.group(1), mark.group(2)
        if mark.group() == "{" or kind == "begin":
            opened.append(name or "{")
        elif not opened:
            yield _unopened(name)
            return
        elif (last := opened.pop()) != (name or "{"):
            yield _unclosed(last) if name or last != "{" else _unopened(name)
            return
    if opened:
        yield _unclosed(opened[-1])


def _unopened(name: str | None) -> str:
    return rf"\end{{{name}}} without its \begin{{{name}}}" if name else "a } without its {"


def _unclosed(opened: str) -> str:
    return "a { without its }" if opened == "{" else rf"\begin{{{opened}}} without its \end{{{opened}}}"


def _dollars(plain: str) -> Iterator[str]:
    """Unbalanced dollar signs. A formula must not contain an empty line, or the beginning of a solution, of tasks or of the document."""
    opened: list[str] = []
    for mark in _DOLLAR.finditer(plain):
        sign = mark.group()
        if sign[0] != "$":
            if opened:
                yield f"a {opened[0]} without its partner before {' '.join(sign.split()) or 'an empty line'}"
                return
        elif opened and opened[-1] == sign:
            opened.pop()
        elif opened[-1:] != ["$"]:  # after a `$`, `$$` ends one formula and begins the next
            opened.append(sign)
    if opened:
        yield f"a {opened[0]} without its partner"


def _pairs(code: str, plain: str) -> Iterator[str]:
    for opening, closing in (("\\(", "\\)"), ("\\[", "\\]")):
        if code.count(opening) != code.count(closing):
            yield f"{opening} and {closing} do not pair"
    sized = [found.group(1) for found in _SIZED.finditer(plain)]
    if sized.count("left") != sized.count("right"):
        yield r"\left and \right do not pair"
