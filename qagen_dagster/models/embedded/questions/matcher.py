"""The deduplicator "matcher". Two questions with similar meanings are duplicates, unless they differ in a quoted text, a row or a
column, or one of them has the opposite of a word in the other.

The matcher gets only pairs with the same numbers, names and negations, because code separates all other pairs before it asks a model.
"""

import re
from difflib import SequenceMatcher

from qagen_dagster.english.answers import Match, match
from qagen_dagster.english.words import word_set
from qagen_dagster.models.embedded.conversation import Action, Conversation, split_frame
from qagen_dagster.models.embedders import shared

# Minimum cosines of two questions. THRESHOLD has a precision of .97 on public question pairs (see docs).
THRESHOLD = 0.85
WITH_EQUAL_ANSWER = 0.75
SYNONYM = 0.75  # minimum cosine of two terms that may stand for each other
_OPPOSITES = word_set(
    "highest lowest largest smallest most least maximum minimum first last before after above below with without north south "
    "east west left right inner outer upper lower start end opening closing hot cold earliest latest longest shortest"
)
_NUMBERED = re.compile(r"^\s*(\d+)\.\s+(\S.*)$", re.MULTILINE)
_NEW = re.compile(r"^New question:[ \t]*\n?[ \t]*(\S.*)$", re.MULTILINE)
_ANSWER = re.compile(r"^(?:Its answer|Answer):[ \t]*(\S.*)$", re.MULTILINE)


def judge_duplicate(conversation: Conversation) -> list[Action]:
    """Compare one new question with those already accepted. There is always one verdict."""
    new = _NEW.search(conversation.prompt)
    answer = _ANSWER.search(conversation.prompt)
    _, _, listed = conversation.prompt.partition("Accepted questions:")
    known: list[tuple[int, str, str]] = []
    for number, text in _NUMBERED.findall(listed):
        question, _, known_answer = text.strip().partition(" [answer: ")
        known.append((int(number), question, known_answer.removesuffix("]")))
    if new is None or not known:
        return [_verdict(None, "there is nothing to compare with")]
    return [compare((new.group(1).strip(), answer.group(1).strip() if answer else ""), known)]


def compare(new: tuple[str, str], known: list[tuple[int, str, str]]) -> Action:
    """The verdict on a question and its answer (or ""), compared with the numbered questions in `known`."""
    # Equal bare numbers do not show that two answers state the same fact, because one number answers many questions.
    comparable = any(char.isalpha() for char in new[1])
    equal = {number for number, _, answer in known if comparable and match(new[1], answer) is Match.SAME}
    # Questions with different question words can be duplicates if their answers are equal: "Who coached X?", "Which coach had X?"
    alike = [
        (number, question)
        for number, question, _ in known
        if _quoted(new[0]) == _quoted(question) and (number in equal or _wh(new[0]) == _wh(question))
    ]
    if not alike:
        return _verdict(None, "what they ask for differs from every accepted question")
    vectors = shared().encode([bare(new[0]), *(bare(question) for _, question in alike)])
    cosines = vectors[1:] @ vectors[0]
    for place, (_, question) in enumerate(alike):
        if _one_term_differs(bare(new[0]), bare(question)):
            cosines[place] = 0.0
    bars = [WITH_EQUAL_ANSWER if number in equal else THRESHOLD for number, _ in alike]
    best = max(range(len(alike)), key=lambda place: float(cosines[place]) - bars[place])
    score = float(cosines[best])
    if score >= bars[best]:
        return _verdict(alike[best][0], f"cosine {score:.2f} of sentence embeddings and no guard against it")
    return _verdict(None, f"highest cosine {score:.2f}, under {bars[best]}")


def _one_term_differs(left: str, right: str) -> bool:
    """Whether the questions differ in only one place, where their words differ in meaning, such as the names of two columns."""
    ours, theirs = (re.findall(r"[\w'-]+", text.lower()) for text in (left, right))
    changes = [
        change
        for change in SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes()
        if change[0] != "equal"
    ]
    if len(changes) != 1 or changes[0][0] != "replace":
        return False
    _, start, end, other_start, other_end = changes[0]
    if {word[:5] for word in ours[start:end]} & {word[:5] for word in theirs[other_start:other_end]}:
        return False
    pair = shared().encode([" ".join(ours[start:end]), " ".join(theirs[other_start:other_end])])
    return (
        float(pair[0] @ pair[1]) < SYNONYM
        or {*ours[start:end], *theirs[other_start:other_end]} & _OPPOSITES != set()
    )


def bare(question: str) -> str:
    """The question without the phrase that names its document."""
    return split_frame(question)[1]


def _quoted(question: str) -> set[str]:
    return {text.lower() for pair in re.findall(r'"([^"]+)"|`([^`]+)`', question) for text in pair if text}


def _wh(question: str) -> str:
    found = re.search(
        r"\b(who|whom|when|where|why|how many|how much|how long|stand for|step)\b", bare(question).lower()
    )
    return found.group(1) if found else "what"


def _verdict(number: int | None, explanation: str) -> Action:
    verdict = "unique" if number is None else "duplicate"
    return Action(
        "submit_duplicate_verdict",
        {"verdict": verdict, "duplicate_of": number, "explanation": f"embedded:matcher: {explanation}."},
    )
