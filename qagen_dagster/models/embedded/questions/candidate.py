"""The candidate that a family of rules produces: a question with its answer, evidence and origin."""

from __future__ import annotations

from dataclasses import dataclass

from qagen_dagster.models.embedded.text.passage import Quote


@dataclass(frozen=True)
class Candidate:
    """`family` names the rule; `quality` orders candidates of one family (about 0 to 1)."""

    asked: str  # the question without its frame
    answer: str
    quotes: tuple[Quote, ...]
    family: str
    question_type: str
    quality: float = 0.5
    frame: str = ""  # the phrase that names the document, if it is known yet
    visuals: tuple[str, ...] = ()

    @property
    def question(self) -> str:
        return f"{self.frame}{self.asked[:1].lower()}{self.asked[1:]}"

    @property
    def line(self) -> int:
        return self.quotes[0].start_line
