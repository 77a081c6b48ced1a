from __future__ import annotations

import gzip
import math

import pytest

from qagen_dagster.publishing.questions.diversity import diversity


def test_figures_by_hand() -> None:
    texts = ["Who built the old pier?", "Who built the old mill?"]
    found = diversity(texts)
    # 10 words: 6 different; 9 pairs: 6; 8 triples: 6; 7 fours: 6.
    assert found.ngram_diversity == pytest.approx(6 / 10 + 6 / 9 + 6 / 8 + 6 / 7)
    # The two share "who built the old": each has one other question with it.
    assert found.self_repetition == pytest.approx(math.log(2))
    joined = b"Who built the old mill? Who built the old pier?"
    assert found.compression_ratio == pytest.approx(len(joined) / len(gzip.compress(joined, mtime=0)))
    assert (found.questions, found.mean_words, found.distinct_openings) == (2, 5.0, 1)


def test_order_does_not_matter_and_copies_are_less_varied() -> None:
    varied = [
        "Why is the pier closed?",
        "How many boats did Ida Holm build?",
        "Who pays the toll of the bridge?",
    ]
    assert diversity(varied) == diversity(varied[::-1])
    copies = diversity([varied[0]] * 3)
    found = diversity(varied)
    assert (found.ngram_diversity or 0) > (copies.ngram_diversity or 0)
    assert (found.self_repetition, found.distinct_openings) == (0.0, 3)
    assert (copies.self_repetition or 0) > 0


@pytest.mark.parametrize("texts", [[], ["Why?"]], ids=["none", "one word"])
def test_too_little_to_measure(texts: list[str]) -> None:
    assert diversity(texts).ngram_diversity is None
