"""Shows lines of a document to a model: between delimiters, numbered and cut to a length.

A document is data, never an instruction. All its text is between the delimiters, and a line that contains a delimiter
is changed visibly, so that it cannot end the excerpt.
"""

import re
from collections.abc import Iterable

TAG = "document_excerpt"
OPEN = f"<{TAG}>"
CLOSE = f"</{TAG}>"
_NOTE = 80  # approximate characters of a note on hidden text
_NUMBER = re.compile(r"(\d+)\| ")
_DELIMITER = re.compile(r"<(?=[\s/\\]*document_excerpt)", re.IGNORECASE)


class Block(str):
    """A prompt value of several lines that code has laid out. A plain string is treated as text of a model or of a document."""

    __slots__ = ()


class OwnText(Block):
    """A prompt value from the configuration, shown as it is."""

    __slots__ = ()


def block(parts: Iterable[str]) -> Block:
    """The parts, one below the other. A part that is a block keeps its lines, and any other part is put on one line."""
    return Block("\n".join(part if isinstance(part, Block) else single_line(part) for part in parts))


def single_line(text: str) -> str:
    """The text with its lines joined by spaces and its delimiters escaped; the rest of the text is unchanged."""
    lines = text.splitlines()
    joined = text if lines in ([], [text]) else " ".join(filter(None, map(str.strip, lines)))
    return escape_tags(joined, [TAG])


def fence(name: str, text: str) -> Block:
    """The text between the tags `name`. Tags in the text are escaped, so that it cannot end the block."""
    return Block(f"<{name}>\n{escape_tags(text, [name])}\n</{name}>")


def escape_tags(text: str, names: Iterable[str]) -> str:
    """Put a backslash into anything that looks like one of the tags."""
    return re.sub(rf"<(?=[\s/]*(?:{'|'.join(names)})\b)", r"<\\", text, flags=re.IGNORECASE)


def neutralise(text: str) -> str:
    """Put a backslash into anything that looks like one of the delimiters."""
    return _DELIMITER.sub(r"<\\", text)


def enclose(rows: list[str]) -> Block:
    """The rows between the delimiters. The caller must have neutralised the rows."""
    return Block("\n".join((OPEN, *rows, CLOSE)))


def with_fewer_numbers(rows: str) -> Block:
    """The rows. Only every tenth line, and the first line of each part, keeps its number, because numbers cost tokens."""
    shown: list[str] = []
    goes_on = False
    for row in rows.split("\n"):
        found = _NUMBER.match(row)
        shown.append(row[found.end() :] if found and goes_on and int(found[1]) % 10 else row)
        goes_on = found is not None
    return Block("\n".join(shown))


def row(number: int, text: str, limit: int) -> str:
    """`41| text`, with the line cut to about `limit` characters and a note on the rest; see `head`."""
    return f"{number}| {head(text, limit)}"


def row_around(number: int, text: str, at: int, limit: int) -> str:
    """Like `row`, but a long line is shown around character `at` (0-based)."""
    if len(text) <= limit + _NOTE:
        return row(number, text, limit)
    start = max(0, min(at - limit // 3, len(text) - limit))
    before = f"[{start} characters of this line hidden before] " if start else ""
    hidden = len(text) - start - limit
    after = f" [{hidden} characters of this line hidden after]" if hidden else ""
    return f"{number}| {before}{neutralise(text[start : start + limit])}{after}"


def head(text: str, limit: int) -> str:
    """The first `limit` characters and a note on the rest; the whole text if the rest has at most `_NOTE` characters."""
    if len(text) <= limit + _NOTE:
        return neutralise(text)
    hidden = len(text) - limit
    return (
        f"{neutralise(text[:limit])} [{hidden} more characters of this line are hidden: "
        "search for what you look for]"
    )


def shown_label(label: str) -> str:
    """A visual's label as every tool shows it and takes it back."""
    return one_line(label, 80).replace("|", "/")


def label_key(label: str) -> str:
    """A key for comparing labels: the label as the tools show it, with case folded."""
    return shown_label(label).casefold()


def one_line(text: str, limit: int) -> str:
    """The text on one line: white space collapsed, cut to `limit` characters with an ellipsis, delimiters neutralised."""
    flat = " ".join(text.split())
    return neutralise(flat if len(flat) <= limit else flat[: limit - 3].rstrip() + "...")
