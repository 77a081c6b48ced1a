"""Croissant metadata of an exported set with the RAI extension. `croissant.json` has what is the same for all sets."""

import json
from importlib.resources import files
from typing import Any

from qagen_dagster.publishing.exporter import json_file
from qagen_dagster.publishing.questions.exported_set import ExportedSet
from qagen_dagster.publishing.questions.set_files import agreement_rows, unlicensed
from qagen_dagster.records.document import Rights
from qagen_dagster.records.ids import content_hash


def croissant(exported: ExportedSet, data: bytes) -> bytes:
    """The metadata of the Parquet file `data`."""
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
    """Rights in the words of schema.org. A licence with an SPDX identifier has an address."""
    licence = rights.licence or ""
    is_spdx = licence.startswith("CC") and " " not in licence
    stated = {
        "license": f"https://spdx.org/licenses/{licence}" if is_spdx else licence,
        "creditText": rights.attribution,
    }
    return {name: value for name, value in stated.items() if value}
