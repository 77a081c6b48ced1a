"""Reads the folders and YAML files that users write, and YAML that a model wrote. Errors name file, line and key.

A folder with a configuration file is a corpus, an exam or a problem set; a broken one does not affect the others. Aliases are rejected, because a
small file could expand without limit. So are tags, deep nesting and duplicate keys.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import yaml
from pydantic import BaseModel, JsonValue, ValidationError

from qagen_dagster.errors import ConfigError, TooLargeError
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
Positions = dict[tuple[str | int, ...], int]


def read_yaml(path: Path, kind: type[RecordT]) -> RecordT:
    """Read `path` as a `kind`. Raises ConfigError naming file, line and key."""
    node = _compose(path)
    positions: Positions = {(): 1}
    data = _plain(node, (), positions, path)
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        fault = error.errors()[0]
        where = tuple(part for part in fault["loc"] if part != "[key]")
        raise ConfigError(
            _message(fault["type"], fault["msg"]),
            file=path,
            line=_line(where, positions),
            key=".".join(str(part) for part in where) or None,
        ) from None


def read_text(text: str) -> JsonValue:
    """The value of a YAML text that is not a file. Scalars stay text, except null.

    Raises ConfigError with a line when the text is not YAML or contains something that `read_yaml` rejects.
    """
    try:
        _check_tokens(text, None)
        node = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        raise ConfigError(f"is not YAML: {error.problem}", line=mark.line + 1 if mark else None) from None
    except yaml.YAMLError as error:
        raise ConfigError(f"is not YAML: {str(error).splitlines()[0]}") from None
    return None if node is None else _words(node)


def _words(node: yaml.Node) -> JsonValue:
    if isinstance(node, yaml.MappingNode):
        return {str(key.value): _words(value) for key, value in node.value}
    if isinstance(node, yaml.SequenceNode):
        return [_words(item) for item in node.value]
    return None if node.value in ("", "~", "null", "Null", "NULL") else str(node.value)


def read_config_text(path: Path) -> str:
    """The text of a configuration file of at most 1 MB. Raises ConfigError."""
    try:
        text = read_file(path, _MAX_BYTES).decode("utf-8-sig")
        return text.replace("\r\n", "\n").replace("\r", "\n")
    except TooLargeError:
        raise ConfigError("is larger than 1 MB", file=path) from None
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", file=path) from None
    except UnicodeDecodeError:
        raise ConfigError("is not UTF-8 text", file=path) from None


def _compose(path: Path) -> yaml.Node:
    try:
        text = read_config_text(path)
        _check_tokens(text, path)
        node = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        raise ConfigError(
            f"is not YAML: {error.problem}", file=path, line=mark.line + 1 if mark else None
        ) from None
    except yaml.YAMLError as error:
        raise ConfigError(f"is not YAML: {str(error).splitlines()[0]}", file=path) from None
    if node is None:
        raise ConfigError("is empty", file=path, line=1)
    return node


def _check_tokens(text: str, path: Path | None) -> None:
    depth = 0
    for token in yaml.scan(text, Loader=_Loader):
        fault = _UNSUPPORTED.get(type(token))
        depth += isinstance(token, _OPENING) - isinstance(token, _CLOSING)
        if depth > _MAX_DEPTH:
            fault = "is nested too deeply"
        if fault is not None:
            raise ConfigError(fault, file=path, line=token.start_mark.line + 1)


def _plain(node: yaml.Node, where: tuple[str | int, ...], positions: Positions, path: Path) -> JsonValue:
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
    """The line of the nearest ancestor that is in the file: a missing key is reported at its mapping."""
    while where not in positions:
        where = where[:-1]
    return positions[where]


def _message(kind: str, text: str) -> str:
    known = {"extra_forbidden": "unknown key", "missing": "required key is missing"}
    return known.get(kind) or text.removeprefix("Value error, ")


T = TypeVar("T")


@dataclass(frozen=True)
class FolderKind(Generic[T]):
    """One kind of folder: its name in messages, its configuration file, and how to load it. A folder's name is its key."""

    noun: str
    config_name: str
    load: Callable[[Path], T]

    def load_all(self, parent: Path) -> tuple[dict[str, T], tuple[ConfigError, ...]]:
        """Load every `<parent>/*/<config_name>`, in name order. Returns them by key, and the errors of the broken ones."""
        found: dict[str, T] = {}
        faults: list[ConfigError] = []
        for path in sorted(parent.glob(f"*/{self.config_name}")):
            try:
                found[path.parent.name] = self.load(path.parent)
            except ConfigError as error:
                faults.append(error)
        return found, tuple(faults)

    def find(self, parent: Path, key: str) -> T:
        """Load only the folder `key`. Raises ConfigError as `load` and `pick` do."""
        if key in {path.parent.name for path in parent.glob(f"*/{self.config_name}")}:
            return self.load(parent / key)
        return self.pick(key, parent, *self.load_all(parent))

    def pick(self, key: str, parent: Path, found: Mapping[str, T], faults: Sequence[ConfigError]) -> T:
        """The loaded value of `key`. Raises its ConfigError if it is broken, else one that lists the valid keys."""
        if key in found:
            return found[key]
        for fault in faults:
            if fault.file is not None and Path(fault.file).parent.name == key:
                raise fault
        known = ", ".join(found) or "none"
        raise ConfigError(f"there is no {self.noun} {key!r} in {parent} (there are: {known})")


def content_folder(folder: Path, name: str, config_name: str) -> Path:
    """The path of `folder/name` without links.

    Raises ConfigError when it is no folder, or a link to a folder outside `folder` and outside the folder that holds it.
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


def config_path(folder: Path, config_name: str) -> Path:
    """The configuration file of a folder. Raises ConfigError when the folder's name cannot be a key."""
    path = folder / config_name
    try:
        check_name(folder.name)
    except ValueError as error:
        raise ConfigError(f"the folder's name is unusable: {error}", file=path) from None
    return path
