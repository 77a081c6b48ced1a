"""The wording that a scenario wants of its questions: their styles, audience and personas, as prompts state them, and the limits on
their words (`_LIMITS`). Code refuses a question whose wording does not fit; `english/wording.py` measures it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from math import floor

from qagen_dagster.english.wording import Wording, style_of, without_names, wording
from qagen_dagster.english.words import tokens
from qagen_dagster.records.corpus_options import Audience, ScenarioConfig, Style

STYLES: Mapping[Style, str] = {
    Style.QUESTION: "a whole question",
    Style.KEYWORD: "three to eight key words, as in the box of a search engine: no question word, no question mark",
    Style.INSTRUCTION: "an instruction, such as 'Explain ...', 'List ...' or 'Give ...', and no question",
    Style.CONVERSATIONAL: "the first message of a chat: one or two sentences in the first person, with what they need it for",
}
_AUDIENCES: Mapping[Audience, str] = {
    Audience.READER: "like questions of somebody who has just read the text: short, and in words of their own",
    Audience.SEARCHER: "like questions of somebody who has never seen the text: the need in their own words, without its phrases",
}
_NO_LIMIT = 1_000  # content words
# Nine of ten questions that people wrote keep these limits. The limits of READER are from XQuAD, whose writers saw the text, and the
# limits of SEARCHER are from Cranfield.
_LIMITS: Mapping[Audience, Wording] = {
    Audience.READER: Wording(shared=1.0, copied=0.4, words=8),
    Audience.SEARCHER: Wording(shared=0.67, copied=0.1, words=14),
}


def description(scenario: ScenarioConfig, *, writes: bool = False) -> str:
    """The description of a scenario with its styles, including the audience and the personas for an agent that `writes` questions."""
    return "\n".join((scenario.description, *_asked(scenario, writes=writes)))


def _asked(scenario: ScenarioConfig, *, writes: bool) -> Iterator[str]:
    if scenario.style is not None:
        shares = "; ".join(f"{share:.0%} {STYLES[style]}" for style, share in scenario.style.items())
        yield f"In these rules, a question is whatever asks for an answer. How it is worded: {shares}."
    if writes and scenario.audience is not None:
        yield f"Questions are worded {_AUDIENCES[scenario.audience]}."
    most = limits_of(scenario) if writes else None
    if most is not None:
        yield f"Code measures that: {'; '.join(_limits(most))}. Names stay as the document writes them."
    if writes and scenario.personas:
        yield f"Those who ask, in turn: {'; '.join(scenario.personas)}. Ask what each of them would want to know, without saying who asks."


def _limits(most: Wording) -> Iterator[str]:
    if most.words < _NO_LIMIT:
        yield f"a question has at most {most.words:g} different words, names too, but not words such as what, is or of"
    if most.shared < 1:
        yield f"at most {most.shared:.0%} of these, names left out, stand in the passages that answer it"
    if most.copied < 1:
        yield f"at most {most.copied:.0%} of its runs of three words are copied from them, runs with names left out"


def next_style(scenario: ScenarioConfig, accepted: Iterable[str]) -> str:
    """The wording that the next question needs to keep the shares of the styles; empty if there is only one style."""
    shares = scenario.style or {}
    if len(shares) < 2:
        return ""
    have = Counter(map(style_of, accepted))
    count = sum(have.values()) + 1
    return STYLES[max(shares, key=lambda style: shares[style] * count - have[style])]


def limits_of(scenario: ScenarioConfig) -> Wording | None:
    """The limits on the wording of a question; None if there are none."""
    most = None if scenario.audience is None else _LIMITS[scenario.audience]
    if scenario.max_overlap is None:
        return most
    return (most or Wording(1.0, 1.0, _NO_LIMIT))._replace(shared=scenario.max_overlap)


def fault_of(scenario: ScenarioConfig, question: str, evidence: str) -> str:
    """The fault in the wording of a question, compared with its evidence; empty if the scenario allows the wording."""
    style = style_of(question)
    if scenario.style is not None and style not in (None, *scenario.style):
        wanted = ", or ".join(STYLES[one] for one in scenario.style)
        return f"it must be worded as {wanted}"
    most = limits_of(scenario)
    if most is None:
        return ""
    plain = without_names(question)
    found = wording(plain, evidence)._replace(words=wording(question, "").words)
    if _is_over(found.shared, most.shared, wording(plain, "").words):
        return f"of the question's content words that are no names, {found.shared:.0%} stand in the quotes, at most {most.shared:.0%} may: use other words"
    if _is_over(found.copied, most.copied, len(tokens(plain)) - 2):
        return f"of the question's runs of three words without names, {found.copied:.0%} are copied from the quotes, at most {most.copied:.0%} may be: use other words"
    if found.words <= most.words:
        return ""
    return f"the question has {found.words} content words, at most {most.words} may be: shorten it"


def _is_over(share: float, most: float, count: float) -> bool:
    """Whether `share` of `count` words or runs is more than allowed: the share `most` of them, rounded, and always at least one."""
    return round(share * count) > max(1, floor(most * count + 0.5))
