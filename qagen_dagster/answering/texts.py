"""Loads the texts of a stored document: its full text, its abstract, or neither."""

from __future__ import annotations

import re
from dataclasses import dataclass

from qagen_dagster.answering.fulltext.resolvers import Paper
from qagen_dagster.answering.fulltext.storage import stored_text
from qagen_dagster.errors import StoreError
from qagen_dagster.records.answer import DocumentTextStatus
from qagen_dagster.records.document import Document
from qagen_dagster.records.ids import content_hash
from qagen_dagster.store import Store

MORE_THAN_ABSTRACT = 0.5  # a text that adds less than this to its abstract is no full text
_WAYS = re.compile(
    r"^(?:https?://)?(?:(?:www\.|dx\.)?doi\.org/)?(?:doi:\s*)?", re.IGNORECASE
)  # of writing a DOI
FEWEST_WORDS = 60  # nor one that adds fewer words


@dataclass(frozen=True)
class DocumentTexts:
    """A document and its texts. `fetched`: the full text is not the document's own text, but was fetched."""

    document: Document
    own: str
    fulltext: str | None
    fetched: bool

    @property
    def abstract(self) -> str | None:
        """The abstract as the document states it."""
        said = self.document.metadata.abstract
        if said and said.strip():
            return said.strip()
        return None

    @property
    def paper(self) -> Paper:
        meta = self.document.metadata
        return Paper(doi=bare_doi(meta.doi), url=meta.url)

    def status(self, *, indexed: bool = False) -> DocumentTextStatus:
        """The status of the texts. `indexed`: the text to search is already embedded."""
        full = self.fulltext is not None
        return DocumentTextStatus(
            document_id=self.document.id,
            has_abstract=self.abstract is not None,
            has_fulltext=full,
            has_abstract_embeddings=indexed and not full,
            has_fulltext_chunks=indexed and full,
            abstract_length=len(self.abstract or ""),
            fulltext_length=len(self.fulltext or ""),
            title=self.document.metadata.title,
        )


def load_texts(store: Store, corpus: str, document_id: str) -> DocumentTexts | None:
    """The texts of a stored document; None when there is no such document. Raises StoreError."""
    try:
        document = store.find(Document.key(corpus, document_id), Document)
    except ValueError:  # no document has such a name
        return None
    if document is None:
        return None
    key = Document.text_key(corpus, document_id)
    data = store.get(key) or b""
    if document.text_sha256 and content_hash(data) != document.text_sha256:
        raise StoreError(f"{store.path(key)} is damaged: materialize parsed_documents to parse it again")
    own = data.decode("utf-8", "replace")
    fetched = stored_text(store, corpus, document_id)
    if fetched is not None:
        return DocumentTexts(document, own, fetched, True)
    return DocumentTexts(document, own, own if is_fulltext(document, own) else None, False)


def is_fulltext(document: Document, text: str) -> bool:
    """Whether a document's text is more than an abstract with title, authors and keywords."""
    if not text.strip():
        return False
    abstract = len((document.metadata.abstract or "").split())
    if not abstract:
        return True
    meta = document.metadata
    around = len((meta.title or "").split()) + sum(len(name.split()) for name in meta.authors)
    added = len(text.split()) - abstract - around
    return added > max(FEWEST_WORDS, MORE_THAN_ABSTRACT * abstract)


def bare_doi(doi: str | None) -> str | None:
    """The DOI without prefixes such as `doi:` or `https://doi.org/`; None if it is no DOI."""
    said = _WAYS.sub("", (doi or "").strip())
    good = said.startswith("10.") and "/" in said and not any(char.isspace() for char in said)
    return said if good and len(said) <= 300 else None
