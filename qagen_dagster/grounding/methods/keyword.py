"""Keyword grades: a sentence is ungrounded if the document contains none of its phrases.

After "QAGRedo Algorithm Report", section 4.3.2: phrases of two and three words without stop words. The words of a
sentence too short for a phrase are searched one by one; a sentence of only stop words is not measured. A phrase that is
found proves only the topic, so the words of the whole sentence decide whether it is supported (`verdicts.py`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

from qagen_dagster.facts.polarity import negates
from qagen_dagster.facts.words import STOP_WORDS, tokens
from qagen_dagster.grounding.generic import is_generic, is_refusal, is_unsure
from qagen_dagster.grounding.source import Source, Window
from qagen_dagster.grounding.tally import tally
from qagen_dagster.grounding.verdicts import decide
from qagen_dagster.index.sentences import claims
from qagen_dagster.records.grading import AnswerGrade, SentenceGrade, SentenceStatus

BOOST = 0.2  # added confidence of an answer that admits not knowing
SIZES = (3, 2)  # words in a key phrase; the longer one is better evidence


def grade(answer: str, source: Source, *, question: str = "") -> AnswerGrade:
    """Grade each sentence of `answer` by its key phrases; odd input never raises."""
    document = _document(source)
    sentences = [_sentence(claim.text, question, document) for claim in claims(answer)]
    return tally(sentences, "keyword", boost=BOOST if is_unsure(answer) else 0.0)


def key_phrases(sentence: str) -> list[str]:
    """Phrases of three and of two consecutive words without stop words, in the spelling of `tokens`."""
    runs = [list(run) for stop, run in groupby(tokens(sentence), STOP_WORDS.__contains__) if not stop]
    return list(dict.fromkeys(phrase for size in SIZES for run in runs for phrase in _grams(run, size)))


def _grams(run: list[str], size: int) -> Iterator[str]:
    for first in range(len(run) - size + 1):
        yield " ".join(run[first : first + size])


@dataclass(frozen=True)
class _Document:
    """A document's words in one string, and the start of each sentence in it."""

    source: Source
    words: str
    starts: list[int]

    def find(self, phrase: str) -> int:
        """Position of the phrase as whole words, or -1; scripts without spaces are searched without word boundaries."""
        return self.words.find(f" {phrase} " if phrase.isascii() else phrase)

    def window(self, at: int, length: int) -> Window:
        """The sentences that hold the words from `at` on."""
        first = bisect_right(self.starts, at + 1) - 1
        last = bisect_right(self.starts, at + length) - 1
        return Window(first, last - first + 1)


@lru_cache(maxsize=4)
def _document(source: Source) -> _Document:
    parts, starts, length = list[str](), list[int](), 1
    for sentence in source.sentences:
        starts.append(length)
        words = " ".join(tokens(sentence.text))
        parts.append(words)
        length += len(words) + 1
    return _Document(source, f" {' '.join(parts)} ", starts)


def _sentence(claim: str, question: str, document: _Document) -> SentenceGrade:
    if is_generic(claim) or is_refusal(claim):
        return SentenceGrade(sentence=claim, status=SentenceStatus.GENERIC)
    phrases = key_phrases(claim) or [word for word in dict.fromkeys(tokens(claim)) if word not in STOP_WORDS]
    if not phrases:
        return SentenceGrade(
            sentence=claim, status=SentenceStatus.NOT_MEASURED, reason="it has stop words only"
        )
    places = [(document.find(phrase), phrase) for phrase in phrases]
    found = [(place, phrase) for place, phrase in places if place >= 0]
    score = len(found) / len(phrases)
    if not found:
        reason = "no phrase of it is in the document"
        return SentenceGrade(sentence=claim, status=SentenceStatus.NOT_FOUND, score=score, reason=reason)
    window = document.window(found[0][0], len(found[0][1]))
    evidence = document.source.evidence(window)
    verbatim = document.find(" ".join(tokens(claim))) >= 0 and negates(claim) == negates(evidence.quote)
    supported = verbatim or decide(claim, document.source, question).supported is True
    return SentenceGrade(
        sentence=claim,
        status=SentenceStatus.SUPPORTED if supported else SentenceStatus.NOT_MEASURED,
        score=score,
        evidence=evidence,
        reason="" if supported else f"the document has {len(found)} of its {len(phrases)} phrases",
    )
