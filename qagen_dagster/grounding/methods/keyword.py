"""Keyword grades: what code decides, and a sentence is also ungrounded if the document contains none of its phrases.

After "QAGRedo Algorithm Report", section 4.3.2: phrases of two and three words without stop words. The words of a
sentence too short for a phrase are searched one by one. A phrase that is found proves only the topic and supports nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import groupby

from qagen_dagster.english.words import STOP_WORDS, read, tokens
from qagen_dagster.grounding.generic import is_unsure
from qagen_dagster.grounding.methods import semantic
from qagen_dagster.grounding.source import Source
from qagen_dagster.grounding.tally import tally
from qagen_dagster.records.grading import AnswerGrade, SentenceGrade, SentenceStatus

BOOST = 0.2  # added confidence of an answer that admits not knowing
SIZES = (3, 2)  # words in a key phrase
NO_PHRASE = "no phrase of it is in the document"


def grade(answer: str, source: Source, *, question: str = "") -> AnswerGrade:
    """Grade each sentence of `answer`; odd input never raises."""
    sentences = [_searched(one, source) for one in semantic.sentences(answer, source, question)]
    return tally(sentences, "keyword", boost=BOOST if is_unsure(answer) else 0.0)


def key_phrases(sentence: str) -> list[str]:
    """Phrases of three and of two consecutive words without stop words; single words if there is no phrase."""
    runs = [list(run) for stop, run in groupby(tokens(sentence), STOP_WORDS.__contains__) if not stop]
    phrases = [phrase for size in SIZES for run in runs for phrase in _grams(run, size)]
    return list(dict.fromkeys(phrases or [word for run in runs for word in run]))


def _grams(run: list[str], size: int) -> Iterator[str]:
    for first in range(len(run) - size + 1):
        yield " ".join(run[first : first + size])


def _searched(one: SentenceGrade, source: Source) -> SentenceGrade:
    phrases = key_phrases(one.sentence)
    if one.status is not SentenceStatus.NOT_MEASURED or not phrases:
        return one
    words = _words(source)
    found = sum((f" {phrase} " if phrase.isascii() else phrase) in words for phrase in phrases)
    if found:
        return one.model_copy(update={"reason": f"the document has {found} of its {len(phrases)} phrases"})
    update = {"status": SentenceStatus.NOT_FOUND, "score": 0.0, "evidence": None, "reason": NO_PHRASE}
    return one.model_copy(update=update)


@lru_cache(maxsize=4)
def _words(source: Source) -> str:
    """The words of the document. Scripts without spaces are searched without word boundaries."""
    return f" {' '.join(read(source.text))} "
