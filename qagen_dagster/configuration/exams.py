"""Finds exams and reads their exam.yaml and schemas.md. A broken exam or schema is reported with its line. It does not affect others."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path

from qagen_dagster.configuration import yaml_files
from qagen_dagster.errors import ConfigError
from qagen_dagster.records.exams.config import ExamConfig
from qagen_dagster.records.exams.submissions import ExamPart, ExamSchema

_HEADER = re.compile(r"^##[ \t]+(\S.*)$")
_NAMED = re.compile(r"([A-Za-z]{1,16}[0-9]{1,4})\.[ \t]+(\S.*)")
_PART = re.compile(r"^###[ \t]+(\S.*)$")
_BULLET = re.compile(r"^[ \t]{0,3}(?:[-*+]|[0-9]{1,3}[.)])[ \t]+")
_FENCE = re.compile(r"^[ \t]{0,3}(?:```|~~~)")
_PARTS = {
    "core thinking move": "core_move",
    "contexts": "contexts",
    "wrong paths": "wrong_paths",
    "notes": "notes",
}
_NEEDED = ("core_move", "contexts", "wrong_paths")
_TITLES = {field: title.capitalize() for title, field in _PARTS.items()}
_FEWEST_WRONG = 3  # an item has at least four options, and one of them is right
FOLDER = "exams"  # in the corpora folder
CONFIG_NAME = "exam.yaml"
SCHEMAS_NAME = "schemas.md"


@dataclass(frozen=True)
class Library:
    """The valid schemas of a file by id, in order, and the errors of broken schemas. The `key` of an error is the schema's id, if known."""

    schemas: dict[str, ExamSchema]
    faults: tuple[ConfigError, ...]


def read_schemas(path: Path) -> Library:
    """Read `path`. Raises ConfigError when the file as a whole cannot be read."""
    lines = yaml_files.read_config_text(path).splitlines()
    found: dict[str, ExamSchema] = {}
    faults: list[ConfigError] = []
    for start, block in _blocks(lines):
        try:
            schema = _schema(tuple(block), start, path)
            if schema.id in found:
                first = found[schema.id].line
                raise ConfigError(
                    f"is defined twice, first in line {first}", file=path, line=start, key=schema.id
                )
            found[schema.id] = schema
        except ConfigError as error:
            faults.append(error)
    return Library(found, tuple(faults))


def _blocks(lines: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Each block with the number of its first line. A header inside a code fence does not begin a block."""
    start, block, fenced = 0, list[str](), False
    for number, line in enumerate(lines, 1):
        if _HEADER.match(line) and not fenced:
            if start:
                yield start, block
            start, block = number, []
        fenced ^= bool(_FENCE.match(line))
        block.append(line)
    if start:
        yield start, block


@lru_cache(maxsize=256)  # each plan of a part reads the file
def _schema(block: tuple[str, ...], start: int, path: Path) -> ExamSchema:
    title = block[0].removeprefix("##").strip()
    named = _NAMED.fullmatch(title)
    if named is None:
        fault = f"{title!r} is not a schema header; write it like '## M1. Title'"
        raise ConfigError(fault, file=path, line=start)
    key = named.group(1)
    fault_at = partial(ConfigError, file=path, key=key)
    parts = _parts(block, start, fault_at)
    for needed in _NEEDED:
        if not parts.get(needed):
            raise fault_at(f"'### {_TITLES[needed]}' is missing or empty", line=start)
    wrong = _items(parts["wrong_paths"])
    if len(wrong) < _FEWEST_WRONG:
        raise fault_at(f"has {len(wrong)} wrong paths, but needs at least {_FEWEST_WRONG}", line=start)
    return ExamSchema(
        id=key,
        title=named.group(2).strip(),
        core_move=" ".join(" ".join(parts["core_move"]).split()),
        contexts=_items(parts["contexts"]),
        wrong_paths=wrong,
        notes=_items(parts.get("notes", [])),
        text="\n".join(block).strip(),
        line=start,
    )


def _parts(block: Sequence[str], start: int, fault_at: Callable[..., ConfigError]) -> dict[str, list[str]]:
    """The lines of each part, without blank lines. `fault_at` makes an error from a message and a `line`."""
    parts: dict[str, list[str]] = {}
    field = ""
    for number, line in enumerate(block[1:], start + 1):
        header = _PART.match(line)
        if header is not None:
            field = _PARTS.get(header.group(1).strip().rstrip(":").casefold(), "")
            if not field or field in parts:
                known = ", ".join(_TITLES.values())
                fault = "is given twice" if field else f"is not a part of a schema (parts: {known})"
                raise fault_at(f"'{line.strip()}' {fault}", line=number)
            parts[field] = []
        elif line.strip():
            if not field:
                raise fault_at("there is text before the first '###' part of this schema", line=number)
            parts[field].append(line)
    return parts


def _items(lines: Sequence[str]) -> tuple[str, ...]:
    """One item per bullet, with the lines that follow it; text before the first bullet is an item, too. Without bullets: one per line."""
    bulleted = any(_BULLET.match(line) for line in lines)
    items: list[str] = []
    for line in lines:
        text = _BULLET.sub("", line).strip()
        if bulleted and not _BULLET.match(line) and items:
            items[-1] = f"{items[-1]} {text}"
        else:
            items.append(text)
    return tuple(items)


@dataclass(frozen=True)
class Exam:
    """A valid exam. The name of its folder is its key. `faults` are the errors of its broken schemas."""

    key: str
    folder: Path
    config: ExamConfig
    schemas: dict[str, ExamSchema]
    faults: tuple[ConfigError, ...] = ()
    prompts: dict[str, str] = field(default_factory=dict[str, str])  # texts that replace shipped prompts

    def schema(self, schema_id: str) -> ExamSchema:
        """The schema `schema_id`. Raises its error if it is broken, and ConfigError, with a list of the schemas, for an unknown id."""
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
        return tuple(
            ExamPart(exam=self.key, schema_id=schema, difficulty=difficulty)
            for schema in chosen(self.schemas, self.config.schema_prefixes)
            for difficulty in self.config.difficulties
        )


def chosen(schemas: dict[str, ExamSchema], prefixes: tuple[str, ...]) -> dict[str, ExamSchema]:
    """The schemas whose ids begin with one of `prefixes`; all schemas if `prefixes` is empty."""
    return {key: one for key, one in schemas.items() if not prefixes or key.startswith(prefixes)}


def load_exams(corpora: Path) -> yaml_files.Loaded[Exam]:
    """Read every `<corpora>/exams/*/exam.yaml`, in name order. A missing exams/ folder is no error.

    `faults` has the errors of broken exams, then those of broken schemas of the valid exams.
    """
    found, faults = _EXAMS.load_all(corpora / FOLDER)
    of_schemas = (fault for exam in found.values() for fault in exam.faults)
    return yaml_files.Loaded(found, (*faults, *of_schemas))


def find_exam(corpora: Path, key: str) -> Exam:
    """Read the exam `key`. Raises ConfigError for a broken exam, and for an unknown key (the message then lists the valid keys)."""
    return _EXAMS.find(corpora / FOLDER, key)


def load_exam(folder: Path) -> Exam:
    """Read one exam. Raises ConfigError when one of its files cannot be used, or when it has no valid schema."""
    path = yaml_files.config_path(folder, CONFIG_NAME)
    config = yaml_files.read_yaml(path, ExamConfig)
    library = read_schemas(folder / SCHEMAS_NAME)
    texts = yaml_files.prompt_texts(folder, config.prompts, CONFIG_NAME)
    exam = Exam(folder.name, folder, config, library.schemas, library.faults, texts)
    if not library.schemas:
        empty = ConfigError("contains no schema", file=folder / SCHEMAS_NAME)
        raise next(iter(library.faults), empty)
    known = set(library.schemas) | {fault.key for fault in library.faults}
    for schema in config.schema_weights:
        if schema not in known:
            raise ConfigError(f"there is no schema {schema!r}", file=path, key="schema_weights")
    for prefix in config.schema_prefixes:
        if not any(one is not None and one.startswith(prefix) for one in known):
            raise ConfigError(f"no schema begins with {prefix!r}", file=path, key="schema_prefixes")
    return exam


_EXAMS = yaml_files.FolderKind("exam", CONFIG_NAME, load_exam)
