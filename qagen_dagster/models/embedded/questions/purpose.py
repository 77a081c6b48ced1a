"""The kinds of questions that a scenario's description asks for, so that two scenarios of a corpus differ."""

from __future__ import annotations

import re
from collections.abc import Iterable

from qagen_dagster.english.words import word_set
from qagen_dagster.models.embedded.questions.candidate import Candidate

_DESCRIPTION = re.compile(
    r"^What the questions are for\n-+\n(.*?)^(?:Write the kind|A good question)", re.M | re.S
)
_KINDS = (
    (r"\bwhy\b|\bcauses?\b|\breasons?\b|\bexplanations?\b", "why"),
    (r"\bdefin|\bmeanings?\b|\bconcepts?\b|\bterm(?:s|inology)\b", "definition acronym"),
    (r"\btables?\b|\bfigures?\b|\bdefaults?\b|\boptions?\b|\bspecifications?\b|\bvalues?\b", "cell key"),
    (r"\bhow (?:many|much|long|far)\b|\bnumbers?\b|\bsizes?\b|\bamounts?\b|\bfees?\b|\bprices?\b|\blimits?\b|\bquantit", "how_many how_long cell key"),
    (r"\bdates?\b|\bwhen\b|\bdeadlines?\b|\bhours\b|\byears?\b|\bhistor", "when"),
    (r"\bwho\b|\bpersons?\b|\bpeople\b|\boffices?\b|\bauthors?\b", "who"),
)  # fmt: skip
_FAMILIES = tuple((re.compile(pattern, re.IGNORECASE), word_set(families)) for pattern, families in _KINDS)


def wanted_families(system_prompt: str) -> frozenset[str]:
    """Families that fit the purpose stated in the prompt; empty if it states none."""
    found = _DESCRIPTION.search(system_prompt)
    said = found.group(1) if found else ""
    return frozenset(family for pattern, families in _FAMILIES if pattern.search(said) for family in families)


def by_purpose(found: Iterable[Candidate], wanted: frozenset[str]) -> list[Candidate]:
    """Candidates of the wanted families, then the others, each group in its order."""
    return sorted(found, key=lambda item: item.family not in wanted)
