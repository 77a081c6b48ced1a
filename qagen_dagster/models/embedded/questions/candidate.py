"""What the families produce: a proposed question with its answer, evidence and place of origin."""

from __future__ import annotations

from dataclasses import dataclass

from qagen_dagster.models.embedded.text.passage import Quote


@dataclass(frozen=True)
class Candidate:
    """`family` names the rule; `quality` orders candidates of one family (about 0 to 1).

    `anchored` says that the question names its document or thing already and needs no frame.
    """

    question: str
    answer: str
    quotes: tuple[Quote, ...]
    family: str
    question_type: str
    quality: float = 0.5
    section: tuple[str, ...] = ()
    anchored: bool = False
    visuals: tuple[str, ...] = ()
    before: str = ""  # the paragraph up to the sentence, in lower case: what "the ..." may point back to

    @property
    def line(self) -> int:
        return self.quotes[0].start_line
