"""The licence and the attribution of documents, read when a set is published or exported. They are not stored with the documents."""

from collections.abc import Iterable
from fnmatch import fnmatchcase

from qagen_dagster.errors import ConfigError, DocumentError
from qagen_dagster.formats.base import ParseOptions
from qagen_dagster.ingest.files import parse_options, source_of
from qagen_dagster.ingest.parallel import apply_to_all
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.corpus_config import CorpusConfig
from qagen_dagster.records.document import CorpusIndex, IndexEntry, Rights
from qagen_dagster.records.questions.published import PublishedQuestion


def documents_of(question: PublishedQuestion) -> dict[str, None]:
    """The ids of the documents of a question and its evidence, each once."""
    return dict.fromkeys(
        [question.document_id, *(one.document_id for one in question.evidence if one.document_id)]
    )


def rights_of(space: Workspace, corpus: str, documents: Iterable[str]) -> dict[str, Rights]:
    """By document id what corpus.yaml says of its file, else what the file states, else what corpus.yaml says of all files (`*`).

    A file that cannot be read, also because its password is not set, states nothing, and a document that is gone has no rights.
    """
    found, pool, wanted = space.corpus(corpus), space.parsers(), dict.fromkeys(documents, Rights())
    try:
        options = parse_options(found.config.documents)
    except ConfigError:
        options = ParseOptions()

    def of_file(name: str) -> dict[str | None, Rights]:
        try:
            return pool.rights(source_of(found, name), options)
        except DocumentError:
            return {}

    parsed = space.store.find_head(CorpusIndex.key(corpus), CorpusIndex, IndexEntry) is not None
    entries = [entry for entry in space.entries(corpus) if entry.id in wanted] if parsed else []
    names = list(dict.fromkeys(entry.source for entry in entries))
    read = apply_to_all(of_file, names, names, space.settings.parser_workers, None)
    stated = dict(zip(names, read, strict=True))
    return wanted | {
        one.id: _chosen(found.config, one.source, stated[one.source].get(one.row)) for one in entries
    }


def _chosen(config: CorpusConfig, name: str, stated: Rights | None) -> Rights:
    chosen: dict[str, str | None] = dict(stated or Rights())
    for field, given in (("licence", config.licence), ("attribution", config.attribution)):
        own = [said for pattern, said in given.items() if pattern != "*" and fnmatchcase(name, pattern)]
        chosen[field] = next(iter(own), chosen[field] or given.get("*"))
    return Rights(**chosen)


def joint_rights(rights: Iterable[Rights]) -> Rights:
    """The rights in a question about several documents. Its licence is not known if that of one of them is not."""
    pairs = [(one.licence, one.attribution) for one in rights]
    licences, named = (dict.fromkeys(some) for some in zip(*pairs, strict=True))
    licence = None if None in licences else "; ".join(filter(None, licences))
    return Rights(licence=licence, attribution="; ".join(filter(None, named)) or None)
