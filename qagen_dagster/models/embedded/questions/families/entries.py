"""Questions from labelled lines: "Resolution: 1 mm", "**Resolution** 1 mm"."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from qagen_dagster.models.embedded.questions.candidate import Candidate
from qagen_dagster.models.embedded.questions.context import Context
from qagen_dagster.models.embedded.questions.naming import property_name, type_of
from qagen_dagster.models.embedded.text.blocks import Block, Kind
from qagen_dagster.models.embedded.text.passage import plain

_BOLD_KEY = re.compile(r"^\s*(?:[-*+•]\s+)?(?:\*\*|__)`?([^*_`]{2,48}?)`?\s*(:?)(?:\*\*|__)\s*(:?)\s+(\S.*)$")
_PLAIN_KEY = re.compile(r"^([A-Z][\w ,/'\u2019()-]{1,44}?):\s+(\S.*)$")
_VERB = re.compile(r"\b(?:is|are|was|were|has|have|can|must|should|may)\b")
_GENERIC = re.compile(
    r"^(?:(?:special |legendary |bonus |technical |general |main |key )?(?:abilities|actions|reactions|traits|specifications?|"
    r"data|details|properties|overview|summary|statistics|settings|features|facts|information|description|header|parameters))$",
    re.IGNORECASE,
)


def keyed(blocks: Sequence[Block], context: Context) -> Iterator[Candidate]:
    """Questions for the values of labels that stand under a heading such as "Specifications", or under none."""
    entries = [(block, *_entry(block)) for block in blocks]
    times = Counter(key for _, key, _ in entries)
    for block, key, value in entries:
        if not key or times[key] > 2:  # one of many equal entries
            continue
        if not 1 <= len(value.split()) <= 14 or value.endswith((":", "?")) or len(key.split()) > 5:
            continue
        if _VERB.search(value) and len(value.split()) > 4:
            continue
        inner = [name for name in block.section if name.lower() not in context.title.lower()]
        name, plural = property_name(key, context), key.endswith("s") and not key.endswith(("ss", "us", "is"))
        bold = _BOLD_KEY.match(block.lines[0].text)
        if not (bold or inner) or not all(map(_GENERIC.match, inner)) or not name or plural or context.long:
            continue
        if " " in name or context.inner(block.section):
            quotes, frame = (block.passage.quote(),), context.frame(block.section)
            yield Candidate(f"what is the {name}?", value, quotes, "key", type_of(value), 0.65, frame)


def _entry(block: Block) -> tuple[str, str]:
    """The label and the value of a labelled line; empty if it is none."""
    if block.kind not in (Kind.TEXT, Kind.ITEM):
        return "", ""
    bold = _BOLD_KEY.match(block.lines[0].text) if len(block.lines) == 1 else None
    if bold and not bold.group(1).rstrip().endswith("."):
        return bold.group(1).strip(), plain(bold.group(4))[0].strip(" .")
    text = block.passage.text
    found = _PLAIN_KEY.match(text) if len(text) < 160 else None
    return (found.group(1).strip(), found.group(2).strip(" .")) if found else ("", "")
