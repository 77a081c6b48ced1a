"""Find exams and read their exam.yaml and schemas.md. A broken exam or schema is reported and never takes the others down.

What an exam.yaml may say is `records/exams/config.py`; how schemas.md is read is `configuration/exams/schemas.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from qagen_dagster.configuration.exams.schemas import read_schemas
from qagen_dagster.configuration.yaml_file import read_yaml
from qagen_dagster.errors import ConfigError
from qagen_dagster.records.exams.config import ExamConfig
from qagen_dagster.records.exams.item import ExamPart, ExamSchema
from qagen_dagster.records.ids import check_name

FOLDER = "exams"  # under the folder of corpora
CONFIG_NAME = "exam.yaml"
SCHEMAS_NAME = "schemas.md"


@dataclass(frozen=True)
class Exam:
    """A readable exam: its folder name is its key. `faults` are of schemas that could not be read."""

    key: str
    folder: Path
    config: ExamConfig
    schemas: dict[str, ExamSchema]
    faults: tuple[ConfigError, ...] = ()

    def schema(self, schema_id: str) -> ExamSchema:
        """The schema of that id. Raises ConfigError that names those there are, or what is wrong with it."""
        if schema_id in self.schemas:
            return self.schemas[schema_id]
        for fault in self.faults:
            if fault.key == schema_id:
                raise fault
        known = ", ".join(self.schemas) or "none"
        raise ConfigError(
            f"there is no schema {schema_id!r} (there are: {known})", file=self.folder / SCHEMAS_NAME
        )

    def parts(self) -> tuple[ExamPart, ...]:
        """Every schema x difficulty that the exam allows, in order."""
        return tuple(
            ExamPart(exam=self.key, schema_id=schema, difficulty=difficulty)
            for schema in chosen(self.schemas, self.config.schema_prefixes)
            for difficulty in self.config.difficulties
        )


@dataclass(frozen=True)
class Exams:
    """All exams under one folder of corpora, and what is wrong with the broken ones and with broken schemas."""

    folder: Path
    exams: dict[str, Exam] = field(default_factory=dict[str, Exam])
    faults: tuple[ConfigError, ...] = ()

    def get(self, key: str) -> Exam:
        """The exam called `key`. Raises ConfigError that names what there is, or what is wrong with it."""
        if key in self.exams:
            return self.exams[key]
        for fault in self.faults:
            if fault.file is not None and Path(fault.file).parent.name == key:
                raise fault
        raise ConfigError(
            f"there is no exam {key!r} in {self.folder} (there are: {', '.join(self.exams) or 'none'})"
        )

    def parts(self) -> tuple[ExamPart, ...]:
        """Every part of every exam, in order."""
        return tuple(part for exam in self.exams.values() for part in exam.parts())


def chosen(schemas: dict[str, ExamSchema], prefixes: tuple[str, ...]) -> dict[str, ExamSchema]:
    """The schemas whose id begins with one of `prefixes`; all when there are none."""
    return {key: one for key, one in schemas.items() if not prefixes or key.startswith(prefixes)}


def load_exams(corpora: Path) -> Exams:
    """Read every `<corpora>/exams/*/exam.yaml`, in name order. No folder of exams is no fault."""
    folder = corpora / FOLDER
    found: dict[str, Exam] = {}
    faults: list[ConfigError] = []
    for path in sorted(folder.glob(f"*/{CONFIG_NAME}")):
        try:
            exam = load_exam(path.parent)
        except ConfigError as error:
            faults.append(error)
        else:
            found[exam.key] = exam
            faults.extend(exam.faults)
    return Exams(folder, found, tuple(faults))


def find_exam(corpora: Path, key: str) -> Exam:
    """Read the exam `key` alone. Raises ConfigError; for an unknown one it names those that exist."""
    folder = corpora / FOLDER
    if key in {path.parent.name for path in folder.glob(f"*/{CONFIG_NAME}")}:
        return load_exam(folder / key)
    return load_exams(corpora).get(key)


def load_exam(folder: Path) -> Exam:
    """Read one exam. Raises ConfigError when its exam.yaml cannot be used, or no schema can."""
    path = folder / CONFIG_NAME
    try:
        check_name(folder.name)
    except ValueError as error:
        raise ConfigError(f"the folder's name is unusable: {error}", file=path) from None
    config = read_yaml(path, ExamConfig)
    library = read_schemas(folder / SCHEMAS_NAME)
    exam = Exam(folder.name, folder, config, library.schemas, library.faults)
    if not library.schemas:
        raise (
            library.faults[0] if library.faults else ConfigError("has no schema", file=folder / SCHEMAS_NAME)
        )
    known = set(library.schemas) | {fault.key for fault in library.faults}
    for schema in config.schema_weights:
        if schema not in known:
            raise ConfigError(f"there is no schema {schema!r}", file=path, key="schema_weights")
    for prefix in config.schema_prefixes:
        if not any(one is not None and one.startswith(prefix) for one in known):
            raise ConfigError(f"no schema begins with {prefix!r}", file=path, key="schema_prefixes")
    return exam
