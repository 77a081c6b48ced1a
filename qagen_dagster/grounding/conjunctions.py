"""Splits a claim that joins statements by "and": "Both John and Peter were arrested" states two things.

A claim is split only if each part is a whole statement. A claim about things together ("the two were brothers", "10 in total") stays
whole, and so does a claim with a clause that may belong to one part only.
"""

import re

_SINGULAR = {"were": "was", "are": "is", "have": "has", "do": "does"}
_VERB = re.compile(r"\b(?:is|are|was|were|has|have|had|did|do|does|will|would|can|could|may|might|must)\b")
_WHOLE = re.compile(
    r"\b(?:together|each other|one another|same|between|combined|total|altogether|respectively|jointly|equal|twice|or|nor|neither|either"
    r"|not|no|never|that|which|who|whom|whose|where|when|while|because|if|unless|although|though|but|than|as|before|after|until"
    r"|other|others|brothers|sisters|siblings|twins|partners|friends|married|divorced|met|differ\w*|two|three|four|five|all)\b",
    re.IGNORECASE,
)
_SUBJECTS = re.compile(
    r"(?:both )?(?P<items>.{1,200}?) (?P<verb>were|are|have|had|did|do) (?P<rest>.+)", re.IGNORECASE
)
_AND = re.compile(r",? and |, ")
_CLAUSES = re.compile(r"[,;]? and |; ")
_MOST_WORDS = 6  # of one subject
_MOST_PARTS = 8


def parts_of(claim: str) -> tuple[str, ...]:
    """The statements that a claim joins, at least two; nothing if it states one thing or cannot be split."""
    flat = " ".join(claim.split()).rstrip(".!")
    if _WHOLE.search(flat):
        return ()
    return _of_subjects(flat) or _of_clauses(flat)


def _of_subjects(claim: str) -> tuple[str, ...]:
    """One statement for each subject, if several subjects have one predicate."""
    found = _SUBJECTS.fullmatch(claim)
    items = _AND.split(found["items"]) if found else []
    fits = all(0 < len(item.split()) <= _MOST_WORDS and not _VERB.search(item) for item in items)
    if found is None or not 2 <= len(items) <= _MOST_PARTS or not fits or _VERB.search(found["rest"]):
        return ()
    verb = found["verb"].lower()
    return tuple(f"{item} {_SINGULAR.get(verb, verb)} {found['rest']}" for item in items)


def _of_clauses(claim: str) -> tuple[str, ...]:
    """Clauses that each have a subject and a verb."""
    parts = tuple(part.strip() for part in _CLAUSES.split(claim))
    whole = all((verb := _VERB.search(part)) is not None and part[: verb.start()].strip() for part in parts)
    return parts if whole and 2 <= len(parts) <= _MOST_PARTS else ()
