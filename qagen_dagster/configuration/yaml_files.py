"""Reads the folders and YAML files that users write, and YAML that a model wrote.

A folder with a configuration file is a corpus, an exam or a problem set. A broken folder does not affect the
other folders. Errors name the file, the line and the key as far as these are known.

YAML must not have tags, deep nesting or aliases (a small file with aliases could expand without limit). In a file, a key must not
occur twice in one mapping.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

import yaml
from pydantic import BaseModel, JsonValue, ValidationError

from qagen_dagster.errors import ConfigError, TooLargeError
from qagen_dagster.records.corpus_options import ELSEWHERE
from qagen_dagster.records.ids import check_name
from qagen_dagster.untrusted_file import read_file

RecordT = TypeVar("RecordT", bound=BaseModel)
_MAX_BYTES = 1_000_000
_MAX_DEPTH = 20  # the C parser has no limit of its own: deep nesting would crash the process
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C parser, if the wheel has it
_UNSUPPORTED: dict[type[yaml.Token], str] = {
    yaml.AliasToken: "YAML aliases are not supported",
    yaml.TagToken: "YAML tags are not supported",
}
_OPENING = (
    yaml.BlockMappingStartToken,
    yaml.BlockSequenceStartToken,
    yaml.FlowMappingStartToken,
    yaml.FlowSequenceStartToken,
)
_CLOSING = (yaml.BlockEndToken, yaml.FlowMappingEndToken, yaml.FlowSequenceEndToken)
# The line (from 1) of each value in a file, by the keys and indexes that lead to the value.
Positions = dict[tuple[str | int, ...], int]


def read_yaml(path: Path, kind: type[RecordT]) -> RecordT:
    """Read the file `path` as a record of the class `kind`. Raises ConfigError for the first error, with its place."""
    return _record(read_config_text(path), path, kind)


@lru_cache(maxsize=64)  # sensors and plans read the same files again and again
def _record(text: str, path: Path, kind: type[RecordT]) -> RecordT:
    node = _compose(text, path)
    if node is None:
        raise ConfigError("is empty", file=path, line=1)
    positions: Positions = {(): 1}
    data = _plain(node, (), positions, path)
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        fault = min(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
        where = tuple(part for part in fault["loc"] if part != "[key]")
        named = fault["input"] if fault["type"] == "enum" else where[-1] if where else ""
        raise ConfigError(
            _message(fault["type"], fault["msg"], str(named)),
            file=path,
            line=_line(where, positions),
            key=".".join(str(part) for part in where) or None,
        ) from None


def read_text(text: str) -> JsonValue:
    """The value of a YAML text that is not a file.

    All scalars become text, except that null and empty scalars become None. If a key occurs twice, its last value counts.

    Raises ConfigError, with a line if one is known, when the text is not YAML or has aliases, tags or deep nesting.
    """
    node = _compose(text, None)
    return None if node is None else _words(node)


def _words(node: yaml.Node) -> JsonValue:
    """The value of a node as `read_text` returns it."""
    if isinstance(node, yaml.MappingNode):
        return {str(key.value): _words(value) for key, value in node.value}
    if isinstance(node, yaml.SequenceNode):
        return [_words(item) for item in node.value]
    return None if node.value in ("", "~", "null", "Null", "NULL") else str(node.value)


def read_config_text(path: Path) -> str:
    """The text of a configuration file, with \\n as line ends.

    Raises ConfigError when the file is larger than 1 MB, cannot be read, or is not UTF-8.
    """
    try:
        text = read_file(path, _MAX_BYTES).decode("utf-8-sig")
        return text.replace("\r\n", "\n").replace("\r", "\n")
    except TooLargeError:
        raise ConfigError("is larger than 1 MB", file=path) from None
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", file=path) from None
    except UnicodeDecodeError:
        raise ConfigError("is not UTF-8 text", file=path) from None


def _compose(text: str, path: Path | None) -> yaml.Node | None:
    try:
        _check_tokens(text, path)
        return yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        raise ConfigError(
            f"is not YAML: {error.problem}", file=path, line=mark.line + 1 if mark else None
        ) from None
    except yaml.YAMLError as error:
        raise ConfigError(f"is not YAML: {str(error).splitlines()[0]}", file=path) from None


def _check_tokens(text: str, path: Path | None) -> None:
    """Raise ConfigError if the text has aliases, tags or deep nesting, and YAMLError if it is not YAML."""
    depth = 0
    for token in yaml.scan(text, Loader=_Loader):
        fault = _UNSUPPORTED.get(type(token))
        depth += isinstance(token, _OPENING) - isinstance(token, _CLOSING)
        if depth > _MAX_DEPTH:
            fault = "is nested too deeply"
        if fault is not None:
            raise ConfigError(fault, file=path, line=token.start_mark.line + 1)


def _plain(node: yaml.Node, where: tuple[str | int, ...], positions: Positions, path: Path) -> JsonValue:
    """The value of the node at the place `where`. Adds its line and the lines of all values in it to `positions`."""
    positions.setdefault(where, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        return _mapping(node, where, positions, path)
    if isinstance(node, yaml.SequenceNode):
        return [_plain(item, (*where, index), positions, path) for index, item in enumerate(node.value)]
    try:
        value = yaml.SafeLoader("").construct_object(node)  # pyright: ignore[reportUnknownMemberType]
    except (
        yaml.YAMLError,
        ValueError,
    ):  # such as an impossible date, a number that is too long, or a lone "<<"
        key = ".".join(map(str, where)) or None
        raise ConfigError(
            "cannot be read; put it in quotes if it is text", file=path, line=positions[where], key=key
        ) from None
    return value if isinstance(value, (bool, int, float, str)) or value is None else str(node.value)


def _mapping(
    node: yaml.MappingNode, where: tuple[str | int, ...], positions: Positions, path: Path
) -> dict[str, JsonValue]:
    found: dict[str, JsonValue] = {}
    for key_node, value_node in node.value:
        line = key_node.start_mark.line + 1
        if not isinstance(key_node, yaml.ScalarNode):
            raise ConfigError("a key must be plain text", file=path, line=line)
        key = str(key_node.value)
        if key in found:
            raise ConfigError("duplicate key", file=path, line=line, key=".".join(map(str, (*where, key))))
        positions[(*where, key)] = line
        found[key] = _plain(value_node, (*where, key), positions, path)
    return found


def _line(where: tuple[str | int, ...], positions: Positions) -> int:
    """The line of the value at the place `where`. A key that is missing in the file has the line of its mapping."""
    while where not in positions:
        where = where[:-1]
    return positions[where]


def _message(kind: str, text: str, named: str) -> str:
    known = {"extra_forbidden": "unknown key", "missing": "required key is missing"}
    said = known.get(kind) or text.removeprefix("Value error, ")
    return (
        f"{said}; {ELSEWHERE[named]}" if kind in ("extra_forbidden", "enum") and named in ELSEWHERE else said
    )


T = TypeVar("T")


class Loaded(NamedTuple, Generic[T]):
    """The loaded values of folders by key, in the order of their paths, and the errors of the broken folders."""

    found: dict[str, T]
    faults: tuple[ConfigError, ...] = ()


@dataclass(frozen=True)
class FolderKind(Generic[T]):
    """One kind of folder, such as corpora. The name of a folder is its key.

    Attributes:
        noun: what messages call a folder of this kind.
        config_name: the name of the configuration file in each folder.
        load: reads one folder. Raises ConfigError if the folder is broken.
    """

    noun: str
    config_name: str
    load: Callable[[Path], T]

    def load_all(self, parent: Path) -> Loaded[T]:
        """Load every folder `<parent>/*` that has a configuration file."""
        found: dict[str, T] = {}
        faults: list[ConfigError] = []
        for path in sorted(parent.glob(f"*/{self.config_name}")):
            try:
                found[path.parent.name] = self.load(path.parent)
            except ConfigError as error:
                faults.append(error)
        return Loaded(found, tuple(faults))

    def find(self, parent: Path, key: str) -> T:
        """Load the folder `key`, without the other folders.

        Raises ConfigError when this folder is broken. If there is no such folder, all folders are loaded, because the
        message lists the valid keys.
        """
        if key in {path.parent.name for path in parent.glob(f"*/{self.config_name}")}:
            return self.load(parent / key)
        known = ", ".join(self.load_all(parent).found) or "none"
        raise ConfigError(f"there is no {self.noun} {key!r} in {parent} (there are: {known})")


def content_folder(folder: Path, name: str, config_name: str) -> Path:
    """The path of the folder `folder/name` after its links are resolved.

    Raises ConfigError when `folder/name` is not a folder, when it is a link to itself, or when it is a link
    to a folder that is neither in `folder` nor in the parent of `folder`.
    """
    try:
        real = (folder / name).resolve()
        homes = (folder.resolve(), folder.parent.resolve())
    except RuntimeError:  # a cycle of links
        raise ConfigError(f"{name}/ is a link to itself", file=folder / config_name) from None
    if not real.is_dir():
        raise ConfigError(f"there is no {name}/ folder next to this file", file=folder / config_name)
    if not any(real.is_relative_to(home) for home in homes):
        fault = f"{name}/ is a link to {real}, which is outside {folder.parent}"
        raise ConfigError(fault, file=folder / config_name)
    return real


def prompt_texts(folder: Path, name: str | None, config_name: str) -> dict[str, str]:
    """The texts of the prompts in `folder/name` by the names of their files; empty without a name. Raises ConfigError."""
    found = () if name is None else content_folder(folder, name, config_name).glob("*.md")
    return {path.stem: read_config_text(path) for path in sorted(found)}


def config_path(folder: Path, config_name: str) -> Path:
    """The path of the configuration file in `folder`. Raises ConfigError when the name of the folder cannot be a key."""
    path = folder / config_name
    try:
        check_name(folder.name)
    except ValueError as error:
        raise ConfigError(f"the folder's name is unusable: {error}", file=path) from None
    return path
