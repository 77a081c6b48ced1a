"""Finds exams and reads their exam.yaml and schemas.md. A broken exam or schema is reported and does not affect the others.

The fields of an exam.yaml are in `records/exams/config.py`. `configuration/exams/schemas.py` reads schemas.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from qagen_dagster.configuration.exams.schemas import read_schemas
from qagen_dagster.configuration.files import FolderKind, config_path, read_yaml
from qagen_dagster.errors import ConfigError
from qagen_dagster.records.exams.config import ExamConfig
from qagen_dagster.records.exams.item import ExamPart, ExamSchema

FOLDER = "exams"  # in the corpora folder
CONFIG_NAME = "exam.yaml"
SCHEMAS_NAME = "schemas.md"


@dataclass(frozen=True)
class Exam:
    """A valid exam. The name of its folder is its key. `faults` are the errors of its broken schemas."""

    key: str
    folder: Path
    config: ExamConfig
    schemas: dict[str, ExamSchema]
    faults: tuple[ConfigError, ...] = ()

    def schema(self, schema_id: str) -> ExamSchema:
        """The schema of that id. Raises its ConfigError if it is broken, else one that lists the schemas."""
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
        """Every allowed schema in each difficulty, in order."""
        return tuple(
            ExamPart(exam=self.key, schema_id=schema, difficulty=difficulty)
            for schema in chosen(self.schemas, self.config.schema_prefixes)
            for difficulty in self.config.difficulties
        )


@dataclass(frozen=True)
class Exams:
    """All exams in a corpora folder, and the errors of broken exams and schemas."""

    folder: Path
    exams: dict[str, Exam] = field(default_factory=dict[str, Exam])
    faults: tuple[ConfigError, ...] = ()

    def get(self, key: str) -> Exam:
        """The exam called `key`. Raises ConfigError."""
        return _EXAMS.pick(key, self.folder, self.exams, self.faults)

    def parts(self) -> tuple[ExamPart, ...]:
        """Every part of every exam, in order."""
        return tuple(part for exam in self.exams.values() for part in exam.parts())


def chosen(schemas: dict[str, ExamSchema], prefixes: tuple[str, ...]) -> dict[str, ExamSchema]:
    """The schemas whose ids begin with one of `prefixes`; all schemas without prefixes."""
    return {key: one for key, one in schemas.items() if not prefixes or key.startswith(prefixes)}


def load_exams(corpora: Path) -> Exams:
    """Read every `<corpora>/exams/*/exam.yaml`, in name order. A missing exams/ folder is no error."""
    found, faults = _EXAMS.load_all(corpora / FOLDER)
    of_schemas = (fault for exam in found.values() for fault in exam.faults)
    return Exams(corpora / FOLDER, found, (*faults, *of_schemas))


def find_exam(corpora: Path, key: str) -> Exam:
    """Read only the exam `key`. Raises ConfigError; for an unknown key it lists the valid ones."""
    return _EXAMS.find(corpora / FOLDER, key)


def load_exam(folder: Path) -> Exam:
    """Read one exam. Raises ConfigError when its exam.yaml is invalid or it has no valid schema."""
    path = config_path(folder, CONFIG_NAME)
    config = read_yaml(path, ExamConfig)
    library = read_schemas(folder / SCHEMAS_NAME)
    exam = Exam(folder.name, folder, config, library.schemas, library.faults)
    if not library.schemas:
        raise (
            library.faults[0]
            if library.faults
            else ConfigError("contains no schema", file=folder / SCHEMAS_NAME)
        )
    known = set(library.schemas) | {fault.key for fault in library.faults}
    for schema in config.schema_weights:
        if schema not in known:
            raise ConfigError(f"there is no schema {schema!r}", file=path, key="schema_weights")
    for prefix in config.schema_prefixes:
        if not any(one is not None and one.startswith(prefix) for one in known):
            raise ConfigError(f"no schema begins with {prefix!r}", file=path, key="schema_prefixes")
    return exam


_EXAMS = FolderKind("exam", CONFIG_NAME, load_exam)
