"""Questions from labelled lines ("Resolution: 1 mm", "**Keen Smell.** The ant ...") and numbered steps."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from spacy.tokens import Token

from qagen_dagster.models.embedded.questions.candidate import Candidate
from qagen_dagster.models.embedded.questions.context import Context
from qagen_dagster.models.embedded.questions.naming import property_name
from qagen_dagster.models.embedded.text.blocks import Block, Kind
from qagen_dagster.models.embedded.text.language import parse
from qagen_dagster.models.embedded.text.nouns import is_date
from qagen_dagster.models.embedded.text.passage import Passage, plain
from qagen_dagster.models.embedded.text.sentences import split
from qagen_dagster.models.embedded.text.vocabulary import word_set

_BOLD_KEY = re.compile(r"^\s*(?:[-*+•]\s+)?(?:\*\*|__)`?([^*_`]{2,48}?)`?\s*(:?)(?:\*\*|__)\s*(:?)\s+(\S.*)$")
_PLAIN_KEY = re.compile(r"^([A-Z][\w /'\u2019()-]{1,44}?|[A-Z][\w ,/'\u2019()-]{1,44}?):\s+(\S.*)$")
_LEAD_IN = re.compile(
    r"^\s*(?:[-*+•]\s+)?(?:\*\*\*|\*\*_|\*\*)([^*_.]{2,60})\.(?:\*\*\*|_\*\*|\*\*)\s+(?=\S)"
)
_PARTICIPLES = {
    "issued": "issued",
    "published": "published",
    "revised": "revised",
    "updated": "updated",
    "released": "released",
    "approved": "approved",
    "filed": "filed",
    "decided": "decided",
    "argued": "argued",
    "adopted": "adopted",
    "completed": "completed",
    "opened": "opened",
    "founded": "founded",
    "built": "built",
    "installed": "installed",
}
_NO_KEY = re.compile(
    r"\d$|^(?:note|example|warning|tip|caution|important|source|see|step|keywords?|doi|resolved|in|at|on|by|to|from|with|of|for|"
    r"replaces|applies|present|apologies|signed|dated|sealed|table|figure|fig|box|copyright|email|e-mail|url|website|.*\b(?:to|by|is|are|was|the|that|if|when))\b(?: |$)"
)
_MEANS = re.compile(r"^(means|refers to|stands for) (\S.*)$")
_PEOPLE = word_set(
    "author editor chair chairman chairwoman secretary treasurer contact manager director recorder curator inspector captain designer"
)
_GENERIC = re.compile(
    r"^(?:(?:special |legendary |bonus |technical |general |main |key )?(?:abilities|actions|reactions|traits|specifications?|"
    r"data|details|properties|overview|summary|statistics|settings|features|facts|information|description|header|parameters))$",
    re.IGNORECASE,
)
_SINGULAR_GROUP = {
    "abilities": "ability",
    "actions": "action",
    "reactions": "reaction",
    "traits": "trait",
    "features": "feature",
}


@dataclass(frozen=True)
class Entry:
    """A label and its value, with the value's position in the passage."""

    key: str
    value: str
    passage: Passage
    section: tuple[str, ...]


def entries(blocks: Sequence[Block]) -> Iterator[Entry]:
    """Every labelled value."""
    for block in blocks:
        if block.kind not in (Kind.TEXT, Kind.ITEM):
            continue
        text = block.passage.text
        bold = _BOLD_KEY.match(block.lines[0].text) if len(block.lines) == 1 else None
        if bold and not bold.group(1).rstrip().endswith("."):
            yield Entry(bold.group(1).strip(), plain(bold.group(4))[0].strip(), block.passage, block.section)
        elif (labelled := _PLAIN_KEY.match(text)) and len(text) < 160:
            yield Entry(labelled.group(1).strip(), labelled.group(2).strip(), block.passage, block.section)


def keyed(blocks: Sequence[Block], context: Context) -> Iterator[Candidate]:
    """Questions for the values of labels."""
    found = list(entries(blocks))
    for entry in found:
        value = entry.value.rstrip(".")
        if means := _MEANS.match(entry.value):
            yield from _meaning(entry, means.group(2).rstrip("."), context)
            continue
        plural = entry.key.split()[-1].endswith("s") and not entry.key.endswith(("ss", "us", "is"))
        if re.search(r"\b(?:is|are|was|were|has|have|can|must)\b", value) and len(value.split()) > 4:
            continue
        if not 1 <= len(value.split()) <= 14 or value.endswith((":", "?")) or len(entry.key.split()) > 5:
            continue
        question, family_quality = _key_question(entry, value, plural, context)
        if question:
            quote = entry.passage.quote()
            kind = "numeric" if any(char.isdigit() for char in value) else "factual"
            yield Candidate(
                question, value, (quote,), "key", kind, family_quality, entry.section, anchored=True
            )


def _meaning(entry: Entry, answer: str, context: Context) -> Iterator[Candidate]:
    """Questions for definitions such as "**Casual trader** means a trader who ..."."""
    if 3 <= len(answer.split()) <= 30 and context.title:
        quote = entry.passage.quote()
        question = f'{context.frame()}what does "{entry.key}" mean?'
        yield Candidate(
            question, answer, (quote,), "meaning", "definition", 0.85, entry.section, anchored=True
        )


def _key_question(entry: Entry, value: str, plural: bool, context: Context) -> tuple[str, float]:
    key, lowered = entry.key, entry.key.lower()
    frame = context.frame(entry.section)
    if lowered in _PARTICIPLES and is_date(value) and context.title:
        return f'When was "{context.title}" {lowered}?', 0.8
    if not frame or _NO_KEY.search(lowered) or (key.isupper() and len(key) > 6):
        return "", 0.0
    if any(word in _PEOPLE for word in lowered.split()[-1:]) and value[:1].isupper():
        return f'Who is the {lowered} of "{context.title}"?', 0.8
    owner = owner_of(entry.section, context)
    if owner:
        return f"What {'are' if plural else 'is'} the {key} of {owner}?", 0.75
    name = property_name(key, context)
    if name and not plural and (" " in name or context.inner(entry.section)):
        return f"{frame}what is the {name}?", 0.65
    return f'{frame}what is given for "{key}"?', 0.45


def owner_of(section: tuple[str, ...], context: Context) -> str:
    """The owner of a labelled value, if the document is about one thing."""
    if not context.thing:
        return ""
    inner = [name for name in section if name.lower() not in context.title.lower()]
    return context.thing if not inner or all(_GENERIC.match(name) for name in inner) else ""


def lead_ins(blocks: Sequence[Block], context: Context) -> Iterator[Candidate]:
    """Questions for "**Keen Smell.** The ant ..." if the section names the kind of thing."""
    for block in blocks:
        match = _LEAD_IN.match(block.lines[0].text) if block.kind in (Kind.TEXT, Kind.ITEM) else None
        group = block.section[-1].lower().split()[-1] if block.section else ""
        if match is None or group not in _SINGULAR_GROUP or not context.thing:
            continue
        label = plain(match.group(1))[0].strip()
        body_start = block.passage.text.find(".", len(label) - 1) + 1
        body = block.passage.part(body_start, len(block.passage.text))
        kind = " ".join([*block.section[-1].lower().split()[:-1], _SINGULAR_GROUP[group]])
        text = body.text.strip()
        if 5 <= len(text.split()) <= 60 and not text.endswith(":"):
            yield Candidate(
                f'What does the "{label}" {kind} of {context.thing} do?', text, (block.passage.quote(),),
                "entry", "factual", 0.6, block.section, anchored=True,
            )  # fmt: skip


_STEP = re.compile(r"^(?:Step )?\(?(\d{1,2})[.):]$")


def steps(blocks: Sequence[Block], context: Context) -> Iterator[Candidate]:
    """Questions for the steps of a numbered procedure."""
    for run in _procedures(blocks):
        for number, block in enumerate(run, start=1):
            text = block.passage.text
            first = next(iter(split(block.passage)), None)
            frame = context.frame(block.section)
            if first is None or not frame or not 4 <= len(text.split()) <= 30 or not text.endswith("."):
                continue
            yield Candidate(
                f"{frame}what is step {number}?", text.rstrip("."), (block.passage.quote(),), "step", "procedural",
                0.5, block.section, anchored=True,
            )  # fmt: skip


def _procedures(blocks: Sequence[Block]) -> Iterator[list[Block]]:
    """Runs of items numbered 1, 2, 3, ... whose sentences are instructions."""
    run: list[Block] = []
    for block in [*blocks, None]:
        number = _STEP.match(block.marker) if block is not None and block.kind is Kind.ITEM else None
        if block is not None and number and int(number.group(1)) == len(run) + 1:
            run.append(block)
            continue
        if len(run) >= 3 and _instructs(run):
            yield run
        run = [block] if block is not None and number and number.group(1) == "1" else []


def _instructs(run: list[Block]) -> bool:
    firsts = [doc[0] for doc in parse([block.passage.text[:200] for block in run])]
    return sum(_commands(token) for token in firsts) >= 0.6 * len(firsts)


def _commands(token: Token) -> bool:
    """Whether the item's first word is an imperative, or opens a clause before one."""
    if token.tag_ in ("VBZ", "VBD", "VBN", "NNP", "NNPS", "NNS"):
        return False
    return token.pos_ in ("VERB", "AUX") or token.dep_ in ("ROOT", "mark", "neg")
