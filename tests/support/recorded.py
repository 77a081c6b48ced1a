"""Pages whose commands are run, and whose blocks of output are what those commands print.

A page shows a command in a `bash` block and what it prints in the `text` block after it. Folders, times, ids of runs and other
things that no two runs have in common are an ellipsis there. `pytest --snapshot-update` writes the blocks anew.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_UNLIKE = re.compile(
    r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"  # a run
    r"|\b20\d\d-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d)?(?: UTC)?"
    r"|(?<![\w-])[0-9a-f]{16}(?![\w+])"  # a fingerprint; an id of a question stays, as does the version of a document
    r"|(?<=ledger/)[0-9a-f]{2}/[0-9a-f]{64}"
    r"|(?<=Could not set lock on file )[^)]*"
)
_SECONDS = re.compile(r"(?<=[\d,])( +\d+\.\d)(?= +(?:\$|unknown))")


@dataclass(frozen=True)
class Block:
    """A fenced block under its heading; `start` and `end` are those of its content in the page."""

    language: str
    content: str
    heading: str
    start: int
    end: int


def blocks(text: str) -> list[Block]:
    found: list[Block] = []
    for match in _BLOCK.finditer(text):
        above = [one[1] for one in _HEADING.finditer(text, 0, match.start())]
        heading = above[-1] if above else ""
        found.append(Block(match[1], match[2], heading, match.start(2), match.end(2)))
    return found


def told(out: str, root: Path) -> str:
    """What a command printed, without what the next run prints differently."""
    text = _UNLIKE.sub("…", out.replace(str(root), "…"))
    text = _SECONDS.sub(lambda found: "…".rjust(len(found[0])), text)
    return "\n".join(line.rstrip() for line in text.strip("\n").split("\n")) + "\n"


class Page:
    """A page and what its commands really print."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text = path.read_text(encoding="utf-8")
        self.blocks = blocks(self.text)
        self._printed: dict[int, str] = {}

    def record(self, block: Block, printed: str) -> None:
        self._printed[block.start] = printed

    def differences(self) -> dict[str, str]:
        """What was printed where the page shows something else, by the heading."""
        return {
            one.heading: self._printed[one.start]
            for one in self.blocks
            if self._printed.get(one.start, one.content) != one.content
        }

    def write(self) -> None:
        """The page with what was printed."""
        text = self.text
        for one in reversed(self.blocks):
            text = text[: one.start] + self._printed.get(one.start, one.content) + text[one.end :]
        if text != self.text:
            self.path.write_text(text, encoding="utf-8")
