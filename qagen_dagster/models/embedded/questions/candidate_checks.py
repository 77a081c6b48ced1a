"""The checks that refuse candidates. Each check stands for one reason not to ask a question, and looks at the words of the
question and its answer.
"""

import re
from collections.abc import Callable

from qagen_dagster.english.dates import MONTHS
from qagen_dagster.english.words import content_stems
from qagen_dagster.models.embedded.questions.candidate import Candidate, Context
from qagen_dagster.models.embedded.text.passages import balanced

# Words whose meaning depends on the text around the sentence. "You" is the reader of the document.
_POINTING = re.compile(
    r"\b(?:he|she|they|him|her|them|his|we|us|our|i|me|my|it|itself|some|here|there|such|previous|previously|today|yesterday|now|currently|later|then|next|subsequent|"
    r"again|another|only|latter|former|a different|additional|further|the (?:same|present|other|one)|et al|you|your|(?:section|table|figure|fig\.?|box|step|item|line|example|chapter|algorithm|equation|listing|part|page) \(?\d+|appendix)\b|\b(?:above|below)(?! \d)",
    re.IGNORECASE,
)
# A text that ends so is cut off: a formula follows.
_CUT = re.compile(r"\b(?:where|to|of|and|or|by|in|on|at|for|from|with|than|as|because|the|a)\??$")
_FORMULA = re.compile(
    r" - |--|\w_\w\b|·|[\U0001d400-\U0001d7ff\u2200-\u22ff\\|^{}]|(?<![\w'\u2019.])[b-uw-z](?![\w'.\u2019°])"
)
STRUCTURED = frozenset({"key", "cell", "acronym"})  # families whose questions are not made from sentences
MAX_QUESTION_WORDS = 15  # of one made from a sentence
MAX_ANSWER_WORDS = 30


def _pointing(candidate: Candidate, context: Context) -> bool:
    """Whether the question or its answer has a word whose meaning depends on the text around the sentence."""
    words = f"{candidate.asked} {candidate.answer}"
    return candidate.family not in STRUCTURED and bool(_POINTING.search(words))


def _answer_shown(candidate: Candidate, context: Context) -> bool:
    """Whether the question reveals the answer."""
    answer = content_stems(candidate.answer)
    return set(answer) <= set(content_stems(candidate.question))


def _bad_form(candidate: Candidate, context: Context) -> bool:
    """Whether the question or the answer is too long, or broken off."""
    asked, answer = candidate.asked, candidate.answer
    made = candidate.family not in STRUCTURED
    if (made and len(asked.split()) > MAX_QUESTION_WORDS) or len(answer.split()) > MAX_ANSWER_WORDS:
        return True
    if not (balanced(asked) and balanced(answer)):
        return True
    stranded = candidate.family in ("complement", "who")  # "what is it based on?"
    broken = (
        (_CUT.search(asked) and not stranded)
        or _CUT.search(answer)
        or _FORMULA.search(asked)
        or _FORMULA.search(answer)
    )
    return made and bool(broken)


_NAME = re.compile(r"(?<![?.!] )(?<!^)\b(?!I\b)[A-Z][\w'-]+|\w\.\w|[`_/]|\b[a-z]+\d|\d[a-z]{2,}|\s--?[a-z]")
_MONTH = re.compile(rf"\b(?:{'|'.join(MONTHS)})\b")


def names_something(asked: str) -> bool:
    """Whether the question has a name, a code or a term in quotes, besides the name of a month."""
    return bool(_NAME.search(_MONTH.sub("", asked)))


def _anywhere(candidate: Candidate, context: Context) -> bool:
    """Whether the question could be asked of any document: nothing names what it is about, or only a title does and little else."""
    words = len(set(content_stems(candidate.asked)))
    if names_something(candidate.asked) or (candidate.family in STRUCTURED and candidate.frame):
        return words < 3 and candidate.family in ("object", "complement", "when", "who")
    return (
        words < 4
        or not candidate.frame
        or context.long
        or (candidate.family == "why" and not any(map(str.isdigit, candidate.asked)))
    )


CHECKS: tuple[Callable[[Candidate, Context], bool], ...] = (_pointing, _answer_shown, _bad_form, _anywhere)


def refusal(candidate: Candidate, context: Context) -> str | None:
    """The name of the first check that refuses the candidate, or None."""
    return next((check.__name__.strip("_") for check in CHECKS if check(candidate, context)), None)
