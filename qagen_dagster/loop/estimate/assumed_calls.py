"""The table of assumed calls and tokens of each role, per document and per question, and the assumed speed of models."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

from qagen_dagster.configuration.profiles import Role
from qagen_dagster.loop.estimate.amounts import Use
from qagen_dagster.loop.questions.no_answer.corpus_passages import DOCUMENTS
from qagen_dagster.loop.questions.no_answer.prove import CONTROLS
from qagen_dagster.records.corpus_config import Strategy
from qagen_dagster.records.ids import Mode

# A call of an embedded model.
LOCAL_CALL = Use(calls=1.0, input_tokens=1_200.0, output_tokens=25.0, seconds=0.05)
START_SECONDS, TOKENS_PER_SECOND = 1.5, 60  # speed of a model on a server


@dataclass(frozen=True)
class Row:
    """The usual calls of a role."""

    once: float  # calls for the document; they show the document
    each: float  # calls for each question
    prompt: int  # tokens of a call besides the document
    output: int  # tokens of a call
    shown: float = inf  # maximum characters of the document that a call shows
    each_shows: bool = False  # whether the calls for a question show the document, too
    each_blank: float = 0  # calls for each question that never show the document
    # For questions without an answer: calls for the document, calls for each of them; of the latter one shows the document.
    unanswered_once: float = 0
    unanswered_each: float = 0


# A proof asks the validator with all passages, with the document, and with each of the others; one of three candidates is refused early.
_EACH_PROOF = DOCUMENTS + 3.5
SHORT = Row(once=0, each=1, prompt=350, output=60)  # a call that shows only the question
# Of a judge that grades the pool of a question in four calls.
LABELS = Use(calls=4.0, input_tokens=12_000.0, output_tokens=400.0, seconds=16.0)
_DUPLICATES = Row(once=0, each=0.6, prompt=600, output=150)
TABLE: Mapping[tuple[Strategy, Mode], Mapping[Role, Row]] = {
    (Strategy.AGENT, Mode.TEXTUAL): {
        Role.GENERATOR: Row(once=1, each=3.5, prompt=3_000, output=200, each_shows=True, unanswered_once=1.5),
        Role.VALIDATOR: Row(
            once=0,
            each=3.5,
            prompt=1_700,
            output=200,
            each_shows=True,
            each_blank=1,
            unanswered_once=CONTROLS,
            unanswered_each=_EACH_PROOF,
        ),
        Role.DEDUPLICATOR: _DUPLICATES,
    },
    (Strategy.AGENT, Mode.VISUAL): {
        Role.GENERATOR: Row(once=2, each=4, prompt=5_500, output=200, shown=16_000, each_shows=True),
        Role.VALIDATOR: Row(
            once=0, each=5, prompt=3_000, output=200, shown=24_000, each_shows=True, each_blank=1
        ),
        Role.DEDUPLICATOR: _DUPLICATES,
    },
    (Strategy.ACROSS, Mode.TEXTUAL): {  # the documents are shown in passages
        Role.GENERATOR: Row(once=3, each=0, prompt=6_000, output=300, shown=0),
        Role.VALIDATOR: Row(once=0, each=7, prompt=4_000, output=120, shown=0, each_blank=1),
        Role.DEDUPLICATOR: _DUPLICATES,
    },
    (Strategy.BATCH, Mode.TEXTUAL): {
        Role.GENERATOR: Row(once=1, each=0, prompt=1_700, output=450, unanswered_once=1.5),
        Role.VALIDATOR: Row(
            once=1,
            each=1.7,
            prompt=1_500,
            output=300,
            each_blank=1,
            unanswered_once=CONTROLS,
            unanswered_each=_EACH_PROOF,
        ),
        Role.DEDUPLICATOR: _DUPLICATES,
        Role.ANSWERER: Row(once=1, each=0.3, prompt=1_700, output=650, shown=25_000, each_shows=True),
        Role.JUDGE: Row(once=0, each=1, prompt=2_000, output=150),
    },
}
