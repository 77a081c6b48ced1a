"""A published set as a dataset of Hugging Face: Parquet, its card with front matter, and Croissant metadata with the RAI extension.

`croissant.json` has the metadata that all sets share.
"""

import json
import re
import tempfile
from importlib.resources import files
from pathlib import Path
from typing import Any

import duckdb
import yaml

from qagen_dagster.publishing.exporter import json_file
from qagen_dagster.publishing.questions.exported_set import ExportedRow, ExportedSet
from qagen_dagster.publishing.questions.set_files import agreement_rows, unlicensed, without_files
from qagen_dagster.records.document import Rights
from qagen_dagster.records.ids import content_hash

_PARQUET_FILE = "data/test-00000-of-00001.parquet"
_VALUES = {
    "id": "string", "question": "string", "answer": "string", "document_id": "string",
    "source_document": "string", "row": "string", "question_type": "string", "mode": "string",
    "hops": "int64", "grade": "string", "answerable": "bool", "licence": "string", "attribution": "string",
}  # fmt: skip
_EVIDENCE = {
    "quote": "string", "start_line": "int64", "end_line": "int64", "page": "int64", "visual": "string",
}  # fmt: skip
_LISTS: dict[str, str | dict[str, str]] = {"contexts": "string", "evidence": _EVIDENCE, "images": "image"}
_TYPES = {
    "string": "VARCHAR", "bool": "BOOLEAN", "int64": "BIGINT", "image": "STRUCT(bytes BLOB, path VARCHAR)",
}  # fmt: skip


def huggingface_files(exported: ExportedSet) -> dict[str, bytes]:
    """The split `test` with its card and its Croissant metadata. `images` holds the bytes of the pictures."""
    rows = _parquet(exported)
    return {"README.md": _card(exported), _PARQUET_FILE: rows, "croissant.json": _croissant(exported, rows)}


def _parquet(exported: ExportedSet) -> bytes:
    """The rows as Parquet. DuckDB writes Parquet only to files, so a temporary file is used."""
    columns = [f'"{name}" {_type(kind)}' for name, kind in _VALUES.items()]
    columns += [f'"{name}" {_type(kind)}[]' for name, kind in _LISTS.items()]
    with (
        tempfile.TemporaryDirectory() as folder,
        duckdb.connect(":memory:", config={"threads": 1}) as connection,
    ):
        connection.execute(f"CREATE TABLE rows ({', '.join(columns)})")
        table = connection.table("rows")
        for row in exported.rows:
            table.insert(_values(row))
        target = Path(folder) / "rows.parquet"
        table.write_parquet(str(target))  # pyright: ignore[reportUnknownMemberType]
        return target.read_bytes()


def _type(kind: str | dict[str, str]) -> str:
    if isinstance(kind, str):
        return _TYPES[kind]
    return f"STRUCT({', '.join(f'{name} {_TYPES[one]}' for name, one in kind.items())})"


def _values(row: ExportedRow) -> list[Any]:
    values = {
        **row.details,
        "question": row.question.question,
        "answer": row.question.answer,
        "contexts": row.references,
        "images": [{"bytes": picture.data, "path": picture.path} for picture in row.pictures],
    }
    return [values[name] for name in (*_VALUES, *_LISTS)]


def _card(exported: ExportedSet) -> bytes:
    """The front matter, then the card of the set."""
    published = exported.published
    lists = [
        {"name": key, "list": kind if isinstance(kind, str) else _declared(kind)}
        for key, kind in _LISTS.items()
    ]
    front = {
        **_licence(exported),
        "pretty_name": f"{published.corpus_name}: {published.scenario}, {published.mode.value}",
        "task_categories": ["question-answering"],
        "tags": ["synthetic", "retrieval-augmented-generation"],
        "configs": [{"config_name": "default", "data_files": [{"split": "test", "path": _PARQUET_FILE}]}],
        "dataset_info": {"features": [*_declared(_VALUES), *lists]},
    }
    text: str = yaml.safe_dump(front, allow_unicode=True, sort_keys=False)
    return f"---\n{text}---\n\n{without_files(exported.card)}".encode()


_HUB_LICENCES = re.compile(
    r"cc0-1\.0|cc-by(?:-nc)?(?:-sa|-nd)?-[234]\.\d|mit|apache-2\.0|[al]?gpl-[23]\.0|gfdl|odbl|pddl"
)


def _licence(exported: ExportedSet) -> dict[str, str]:
    """The licence for the front matter: the documents' only licence if the Hub knows it, `unknown` if no licence is known, or `other`."""
    found = {one.licence for one in exported.rights.values()}
    only = str(next(iter(found), None)).lower() if len(found) < 2 else "several"
    if only == "none" or _HUB_LICENCES.fullmatch(only):
        return {"license": "unknown" if only == "none" else only}
    return {"license": "other", "license_name": "see-licences-of-the-documents", "license_link": "README.md"}


def _declared(kinds: dict[str, str]) -> list[dict[str, Any]]:
    """The declarations of features for the front matter of a card."""
    return [{"name": name, "dtype": kind} for name, kind in kinds.items()]


def _croissant(exported: ExportedSet, data: bytes) -> bytes:
    """The Croissant metadata of the set, whose Parquet file has the content `data`."""
    one, rows, rights, review = exported.published, exported.rows, exported.rights, exported.review
    made = [row.question.generation_metadata for row in rows]
    models = {f"generator: {each.generator_model}" for each in made}
    models |= {f"validator: {each.validator_model}" for each in made}
    judged = sum(row.question.verdict is not None for row in rows)
    people = 0 if review is None else review.questions - review.unreviewed
    found: dict[str, Any] = json.loads(files(__package__ or "").joinpath("croissant.json").read_bytes())
    found["distribution"][0]["sha256"] = content_hash(data)
    if licences := {licence for each in rights.values() if (licence := _stated(each).get("license"))}:
        found["license"] = sorted(licences)
    if unknown := unlicensed(rights):
        found["rai:dataLimitations"].append(f"No licence is known of: {', '.join(unknown)}")
    if review is not None:
        found["rai:dataAnnotationAnalysis"] = [f"{name}: {value}" for name, value in agreement_rows(review)]
    sources = [{"@type": "sc:CreativeWork", "name": key, **_stated(each)} for key, each in rights.items()]
    asked = f"A model answered {judged} of {len(rows)} questions before it saw the proposed answers, and judged them."
    return json_file(
        found
        | {
            "name": f"{one.corpus_name}: {one.scenario}, {one.mode.value}",
            "description": f"{len(rows)} questions with answers and evidence. {exported.about}".strip(),
            "datePublished": one.timestamp,
            "isBasedOn": sources,
            "rai:dataCollectionRawData": f"{len(rights)} documents, which isBasedOn lists. {exported.about}".strip(),
            "rai:machineAnnotationTools": sorted(models),
            "rai:dataAnnotationProtocol": [asked, f"People judged {people} questions."],
        }
    )


def _stated(rights: Rights) -> dict[str, str]:
    """Rights in the words of schema.org. An SPDX identifier of Creative Commons becomes an address. Missing values are left out."""
    licence = rights.licence or ""
    is_spdx = licence.startswith("CC") and " " not in licence
    stated = {
        "license": f"https://spdx.org/licenses/{licence}" if is_spdx else licence,
        "creditText": rights.attribution,
    }
    return {name: value for name, value in stated.items() if value}
