"""The described rule, to compare with: grounded from a cosine of 0.5; "QAGRedo Algorithm Report", section 4.3.1."""

from __future__ import annotations

import numpy as np

from qagen_dagster.english.sentences import claims
from qagen_dagster.english.words import content_stems
from qagen_dagster.grounding.source import Source
from qagen_dagster.models.embedders import Vectors, shared

THRESHOLD = 0.5
EACH = 30  # windows of each size that are encoded for a long document


class Described:
    """One document. Each window is encoded once."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._vectors: dict[str, Vectors] = {}

    @property
    def encoded(self) -> int:
        """How many windows have been encoded."""
        return len(self._vectors)

    def score(self, answer: str) -> float:
        """The smallest cosine of the answer's sentences, each to its nearest window; 0 without any."""
        return min((self._nearest(one.text) for one in claims(answer)), default=0.0)

    def _nearest(self, claim: str) -> float:
        stems = content_stems(claim)
        windows = self._source.candidates(stems, EACH) if stems else self._source.windows()[:EACH]
        texts = [self._source.window_text(window) for window in windows]
        new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        if new:
            self._vectors.update(zip(new, shared().encode(new), strict=True))
        if not texts:
            return 0.0
        cosines = np.stack([self._vectors[text] for text in texts]) @ shared().encode([claim])[0]
        return float(min(max(float(cosines.max()), 0.0), 1.0))
