"""Filters that reject questions which a careful person would not ask.

Each check is one reason, based on the words of the question and its answer and on the document's topic.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from qagen_dagster.models.embedded.questions.candidate import Candidate
from qagen_dagster.models.embedded.questions.context import Context
from qagen_dagster.models.embedded.text.sentences import balanced
from qagen_dagster.models.embedded.text.vocabulary import word_set

_PRONOUN = re.compile(
    r"\b(?:he|she|they|him|her|them|his|we|us|our|ours|i|me|my|you|your|yours|myself|itself|themselves|it)\b",
    re.IGNORECASE,
)
_SPEAKER = re.compile(r"\b(?:we|us|our|i|he|she|they|it|his|her|their|its|one)\b", re.IGNORECASE)
_POSSESSIVE = re.compile(r"\b(?:its|their)\b", re.IGNORECASE)
_DEICTIC = re.compile(
    r"\b(?:this|these|those|here|there|such|some|above|below|following|aforementioned|former|latter|former|previous|previously|"
    r"respectively|another|a different|otherwise|instead|today|now|subsequently|thereafter|afterwards?|in the years since|since then|currently|recently|later|earlier|again|the same|the other|the others|"
    r"the second|the first one|that time|at the time|in turn|in question|at issue|at hand|so|then|likewise|next|in addition|for example|for instance|in contrast|by contrast|either|in particular|as well|in fact|of course|in analogy|in other words|additional|further|the present|(?:did|do|does|is|are|was|were) one|(?:number|term|box|step|item|lines?) \d+|as with|as a result|in part|on the contrary|though|still|that order|that date|at bottom|certain instances|in many ways|et al|ibid|supra|infra)\b|\bthat(?= (?:is|was|rate|case|way|point|day|year|time)\b)",
    re.IGNORECASE,
)
_BAD_ANSWER = re.compile(
    r"^(?:this|that|these|those|it|its|their|his|her|our|my|your|one|such|many|some|several|both|all|a lot|them|"
    r"something|anything|nothing|everything|none|neither|no|most|few|several|various|certain|some|other|a number of|recent|each|another|the following|what|which|who|how)\b",
    re.IGNORECASE,
)
_FURNITURE = re.compile(
    r"\b(?:copyright|all rights reserved|permission|licen[cs]e[ds]? under|table of contents|isbn|issn|https?:|www\.|doi:|"
    r"@\w+\.\w+|\bpp\. \d|section \d|see also|click)\b|\[\d+\]|&(?:amp|lt|gt);|\babs/|\bCoRR\b|\barXiv\b|\bU\.S\.C|\bC\.F\.R|\b\d F\.\s?\dd|\$ (?:m|b)illion|…|\.\.\.|\|",
    re.IGNORECASE,
)
_ODD = re.compile(r"[^\w\s.,;:'\u2019\"“”()?!%$€£°±\u00d7µ/&§+\-\u2013—=<>*#`\[\]²³½¼→]")
_STOP = word_set(
    "a an the of in on at to for from by with and or but is are was were be been being do does did has have had what which who whom "
    "when where why how many much long according not no that as it its than into can could may might must shall should will would "
    "give given use used there"
)
MAX_QUESTION_WORDS = 34
MAX_ANSWER_WORDS = 30


def content_words(text: str) -> list[str]:
    """Lower-case words that carry meaning."""
    return [
        word
        for word in re.findall(r"[\w'-]+", text.lower())
        if (word not in _STOP and len(word) > 1) or word.isdigit()
    ]


def _pronoun(candidate: Candidate, context: Context) -> bool:
    asked, answer = candidate.asked, candidate.answer
    if candidate.family == "what_happens":
        return bool(
            _SPEAKER.search(asked)
            or re.search(r"\b(?:we|us|our|i|also|following)\b|^(?:some|many|e\.g)\b", answer, re.I)
        )
    if _PRONOUN.search(asked) or re.search(r"\b(?:we|our|I|my)\b", answer):
        return True
    owned = re.search(r"\b(?:the|a|each|every|[A-Z]\w+)\b.*\bits\b|s\b.*\btheir\b", asked[5:])
    if _POSSESSIVE.search(asked) and not owned:
        return True
    return bool(_PRONOUN.search(answer)) and candidate.family not in _CLAUSE_ANSWERS


_CLAUSE_ANSWERS = frozenset({"why", "what_happens", "definition", "key", "cell"})
_STRUCTURED = frozenset({"key", "cell", "acronym"})


def _deictic(candidate: Candidate, context: Context) -> bool:
    return candidate.family not in _STRUCTURED and bool(_DEICTIC.search(candidate.asked))


def _answer_shown(candidate: Candidate, context: Context) -> bool:
    """Whether the question reveals the answer."""
    answer, asked = content_words(candidate.answer), set(content_words(candidate.question))
    return (not answer and not any(char.isdigit() for char in candidate.answer)) or (
        bool(answer) and all(word in asked for word in answer)
    )


def _bad_answer(candidate: Candidate, context: Context) -> bool:
    answer = candidate.answer
    if not answer or len(answer.split()) > MAX_ANSWER_WORDS:
        return True
    if _BAD_ANSWER.match(answer) and candidate.family not in _CLAUSE_ANSWERS:
        return True
    if candidate.family == "definition" and re.search(r"\b(?:he|she|they|we)\b", answer):
        return True
    if candidate.family in ("definition", "why") and re.search(
        r"\b(?:that|this|these|those) [a-z]+$|\(\d\)|^because[ ,]+of\b|\bsuch (?!as\b)|"
        r"^(?:only|just|merely|also|often|usually|always|commonly|generally|simply|arguably|either|in fact|perhaps|probably|now|still|[a-z]+ing)\b",
        answer,
    ):
        return True
    return (
        not balanced(answer)
        or bool(re.search(r"\b(?:where|to|of|and|or|by|than)$", answer))  # a formula follows
        or bool(_FURNITURE.search(answer))
        or answer.strip(" -\u2013—.").lower() in ("", "none", "n/a")
    )


def _bad_form(candidate: Candidate, context: Context) -> bool:
    question = candidate.asked
    count = len(question.split())
    if (
        not 4 - (candidate.family == "definition") <= count <= MAX_QUESTION_WORDS
        or not balanced(question)
        or not question.endswith("?")
    ):
        return True
    if re.search(
        r"\b(\w+) \1\b|[,;:]\?$|\b(?:and|or|of|the|a|an|with|if|how|that|because|than|as)\?$| [-=] |\bthe (?:different|new|entire|whole|only|real|main|other) ",
        question,
        re.IGNORECASE,
    ):
        return True
    if re.search(
        r"_ \w|[.,][\"”] ?\??|\" \"|(?<![\w'\u2019])(?<!in )[b-uw-z](?![\w'.\u2019°])| The (?=[a-z])",
        question,
    ):
        return True
    return bool(_FURNITURE.search(question)) or len(_ODD.findall(question + candidate.answer)) > 0


def _unknown_thing(candidate: Candidate, context: Context) -> bool:
    """Whether the subject is "the change" or "the difference", known only from the sentence before."""
    if candidate.family in _STRUCTURED:
        return False
    for match in re.finditer(r"\b(?:[Tt]he) ([a-z][a-z-]+)\b(?=\s+([a-z-]+)|\?)", candidate.asked):
        noun, following = match.group(1), match.group(2) or ""
        if following in ("of", "that", "which", "who", "between", "for", "to", "in"):
            continue
        if following and following not in _AFTER_NOUN and not following.endswith(("ed", "s")):
            continue
        known = context.words[noun] > 1 and not re.search(rf"\b{noun}\b", candidate.before)
        if noun not in context.topic and not known:
            return True
    return False


_AFTER_NOUN = word_set(
    "is are was were be do does did has have had can could may might must should will would in on at to from by with when if "
    "because after before until during not and or as for take keep use make need show give find"
)


def _anywhere(candidate: Candidate, context: Context) -> bool:
    """Whether a sentence is asked about without a name or a number that tells where it stands, in a long document, for a date or for a count."""
    named = bool(re.search(r"\d|(?<=\w )[A-Z]\w*[a-z]|[`_]", candidate.asked))
    if candidate.family in _STRUCTURED or candidate.family == "definition":
        return context.long and not named and candidate.family == "definition"
    few = len(set(content_words(candidate.asked)) - {"happens"}) < 4
    return (context.long and (few or not named)) or (
        candidate.family in ("when", "how_many") and few and not named
    )


_OPINION = re.compile(
    r"^(?:an?|the) (?:different|similar|common|same|good|new|popular|special)\b|"
    r"^(?:(?:an?|the|one of the) )?(?:[\w-]+ ){0,4}(?:problem|barrier|challenge|issue|concern|obstacle|reason|way|part|step|"
    r"example|key|goal|aim|priority|topic|matter|success|failure|requirement|advantage|benefit|limitation|drawback|approach|cause|result)s?\b"
)


def _opinion(candidate: Candidate, context: Context) -> bool:
    """Whether a "definition" only judges how good, bad or important a thing is."""
    return candidate.family == "definition" and bool(_OPINION.match(candidate.answer))


CHECKS: tuple[Callable[[Candidate, Context], bool], ...] = (
    _pronoun, _deictic, _answer_shown, _bad_answer, _bad_form, _unknown_thing, _anywhere, _opinion,
)  # fmt: skip


def refusal(candidate: Candidate, context: Context) -> str | None:
    """The name of the first check that refuses the candidate, or None."""
    return next((check.__name__.strip("_") for check in CHECKS if check(candidate, context)), None)


def without_rivals(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Drop questions to which the document gives two answers, and duplicates."""
    by_question: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        by_question.setdefault(_key(candidate.question), []).append(candidate)
    kept: list[Candidate] = []
    for group in by_question.values():
        if len({candidate.answer.lower().strip(" .") for candidate in group}) == 1:
            kept.append(max(group, key=lambda candidate: candidate.quality))
    return kept


def _key(question: str) -> str:
    return " ".join(re.findall(r"\w+", question.lower()))
