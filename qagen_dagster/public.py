"""The functions that other programs import from `qagen_dagster`. Other Dagster projects use `defs/questions/downstream.py`."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from qagen_dagster.answering import answer_from_document as answering
from qagen_dagster.answering.full_text import ProxyCallback
from qagen_dagster.configuration.corpora import load_corpora
from qagen_dagster.errors import ConfigError, StoreError
from qagen_dagster.loop.answering import UnknownDocumentError, in_corpus
from qagen_dagster.loop.evaluation.score import given_output, read_output, score_systems
from qagen_dagster.loop.grading.grade_answers import CommandJudge, command_judge
from qagen_dagster.loop.questions.publication.published_set import LATEST, PublishedSet, read_published
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.budget import Allowance
from qagen_dagster.publishing.score_markdown import score_markdown
from qagen_dagster.records.answer import ChunkContext, DocumentTextStatus, QAError, SemanticSearchAnswer
from qagen_dagster.records.evaluation import ScoreReport
from qagen_dagster.records.ids import Combination
from qagen_dagster.settings import load_settings
from qagen_dagster.store import Store

__all__ = [
    "PublishedSet",
    "answer_from_document",
    "combinations",
    "get_document_text_status",
    "published",
    "score",
    "score_markdown",
    "semantic_search_document",
]
Answers = Path | str | Iterable[Mapping[str, object]]


def published(combination: str, version: str = LATEST, *, assets: str | Path | None = None) -> PublishedSet:
    """The published set of `corpus/scenario/mode`.

    Args:
        combination: the partition key.
        version: "latest", or the content id of a version.
        assets: root of the store. Default: QAGEN_ASSETS, else assets/.

    Raises StoreError when there is no such set, and ValueError when `combination` is not a partition key.
    """
    root = load_settings().assets if assets is None else assets
    return read_published(Store(root), Combination.from_key(combination), version)


def combinations() -> list[str]:
    """The partition keys of all combinations that the corpora folder configures, published or not. Broken corpora are left out."""
    corpora = load_corpora(load_settings().corpora).corpora
    return [one.key for corpus in corpora.values() for one in corpus.combinations()]


def score(
    sets: PublishedSet | Sequence[PublishedSet],
    answers: Answers,
    against: Answers | None = None,
    *,
    profile: str | None = None,
    max_usd: float | None = None,
) -> ScoreReport:
    """The scores of a system on published questions. With `against`, also the scores of a second system, and a comparison of the two.

    Args:
        sets: one published set or several.
        answers: a JSON Lines file, or its rows. A row has the `id` of a question, and `answer`, `passages` or both.
        against: the answers of the second system.
        profile: the profile whose judge compares answers if code cannot decide. Default: no judge is asked.
        max_usd: the limit of spending for the judge, in US dollars. Default: the profile's budget.

    Raises ConfigError for a file that cannot be read, and for a profile or settings that cannot be used.
    """
    several = (sets,) if isinstance(sets, PublishedSet) else tuple(sets)
    known = [question.id for one in several for question in one]
    given = {"answers": answers} if against is None else {"answers": answers, "against": against}
    outputs = [
        read_output(Path(rows), known) if isinstance(rows, (str, Path)) else given_output(name, rows, known)
        for name, rows in given.items()
    ]
    budget = None if max_usd is None else Allowance(max_usd=max_usd)
    judge = CommandJudge() if profile is None else command_judge(Workspace(load_settings()), profile, budget)
    return score_systems(several, outputs, judge)


def answer_from_document(
    document_id: str | int,
    question: str,
    *,
    corpus: str | None = None,
    profile: str | None = None,
    model: str | None = None,
    use_fulltext: bool | None = None,
    download_missing: bool | None = None,
    always_allow_proxy: bool | None = None,
    proxy_callback: ProxyCallback | None = None,
    max_chunks: int | None = None,
    similarity_threshold: float | None = None,
    temperature: float | None = None,
) -> SemanticSearchAnswer:
    """Answer a question from one document of a corpus. Failures are values of the answer, not exceptions.

    `document_id` is an id, a path under documents/, or the `id` of a JSONL row. Without `corpus`, all corpora are searched. Without
    `profile`, the default profile is used. Other options that are None are taken from corpus.yaml and from the profile.
    """
    blank = SemanticSearchAnswer(answer="", document_id=str(document_id), question=question.strip())
    try:
        asked = in_corpus(Workspace(load_settings()), str(document_id), corpus, profile)
    except UnknownDocumentError as error:
        return blank.model_copy(update={"error": QAError.DOCUMENT_NOT_FOUND, "error_message": str(error)})
    except (ConfigError, StoreError) as error:
        kind = QAError.CONFIGURATION_ERROR if isinstance(error, ConfigError) else QAError.DATABASE_ERROR
        return blank.model_copy(update={"error": kind, "error_message": str(error)})
    return answering.answer_from_document(
        asked.document_id,
        question,
        place=asked.place,
        model=model,
        use_fulltext=use_fulltext,
        download_missing=download_missing,
        always_allow_proxy=always_allow_proxy,
        proxy_callback=proxy_callback,
        max_chunks=max_chunks,
        similarity_threshold=similarity_threshold,
        temperature=temperature,
    )


def semantic_search_document(
    document_id: str | int,
    query: str,
    *,
    threshold: float = 0.3,
    limit: int = 5,
    corpus: str | None = None,
    profile: str | None = None,
) -> tuple[ChunkContext, ...]:
    """The passages of one document that are closest to a query in meaning, the closest first. They are chunks of the full text,
    or sentences of the abstract if the document has no full text.

    `threshold` is the minimum cosine similarity. Raises ConfigError, ModelError and StoreError.
    """
    texts, place = _texts(document_id, corpus, profile)
    return answering.search_texts(texts, place.chunks, query, threshold, limit)


def get_document_text_status(
    document_id: str | int, *, corpus: str | None = None, profile: str | None = None
) -> DocumentTextStatus:
    """The texts that a document has, and whether the search index of its corpus has them. Raises ConfigError and StoreError."""
    texts, place = _texts(document_id, corpus, profile)
    return texts.status(place.chunks)


def _texts(
    document_id: str | int, corpus: str | None, profile: str | None
) -> tuple[answering.DocumentTexts, answering.Place]:
    asked = in_corpus(Workspace(load_settings()), str(document_id), corpus, profile)
    texts = answering.load_texts(asked.place.store, asked.place.corpus, asked.document_id)
    if texts is None:
        raise UnknownDocumentError(f"there is no document {document_id!r}")
    return texts, asked.place
