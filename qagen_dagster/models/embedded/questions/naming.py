"""Names of columns, labels and rows inside a question.

Only a label that is certainly a property's name ("mean salinity (g/kg)") can be asked for.
"""

from __future__ import annotations

import re

from qagen_dagster.english.words import word_set
from qagen_dagster.models.embedded.questions.context import Context
from qagen_dagster.models.embedded.text.vocabulary import ATTRIBUTES, HEAD_NOUNS

_CODE_KIND = word_set("option flag parameter setting field key argument property variable command")
_CODE = re.compile(r"^--?\w|^\w+[_.]\w+$|^`")
_ORDINAL = re.compile(r"^(?:first|second|third|last|next|previous|repeated|other|total)\b", re.IGNORECASE)
_UNIT = re.compile(r"^(.*\S)\s*[(\[]([^()\[\]\d]{1,16})[)\]]$")
PREPOSITION = re.compile(r"\s(?:of|per|for|to|in|on|at|above|below|from|with|by|between)\s")
_NUMERIC = re.compile(r"[^\w\s]{0,2} ?\d")
PLAIN_NUMBER = re.compile(r"^\d[\d,]*(?:\.\d+)?$")


def type_of(value: str) -> str:
    """The question type for a value: "numeric" for a number with at most a few words."""
    return "numeric" if _NUMERIC.match(value) and len(value.split()) <= 4 else "factual"


def in_sentence(name: str, context: Context) -> str:
    """A label inside a sentence: without its capital, unless it is a name or an abbreviation."""
    first, _, rest = name.partition(" ")
    known = first.lower() in context.plain or first.lower() not in context.names
    lower = first[1:].islower() and (known or first.lower() in HEAD_NOUNS)
    return name[:1].lower() + name[1:] if lower and not any(map(str.isupper, rest)) else name


def property_name(label: str, context: Context) -> str:
    """ "mean salinity in g/kg" for "Mean salinity (g/kg)"; empty if the label names no property."""
    unit = _UNIT.match(label.strip())
    base = unit.group(1) if unit else label.strip()
    head = PREPOSITION.split(base)[0].split()
    if (
        not head
        or len(base.split()) > 6
        or head[-1].lower() not in ATTRIBUTES
        or re.search(r"[\",]", base)
        or _ORDINAL.match(base)
    ):
        return ""
    return f"{in_sentence(base, context)} in {unit.group(2)}" if unit else in_sentence(base, context)


def row_words(first: str, label: str, context: Context) -> str:
    """The row by its first cell, with the column's name if that helps."""
    kind = first.lower().rstrip("s")
    if _CODE.match(label) or re.fullmatch(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+", label):
        return f"the {kind} `{label}`" if kind in _CODE_KIND else f"`{label}`"
    named = in_sentence(first, context)
    common = named[:1].islower() and len(first.split()) <= 3 and first.replace(" ", "").isalpha()
    if PLAIN_NUMBER.match(label):
        return f"the {named} {label}" if common else f'the row in which "{first}" is {label}'
    return (
        f'the {named} "{label}"' if common and kind not in ("name", *label.lower().split()) else f'"{label}"'
    )
