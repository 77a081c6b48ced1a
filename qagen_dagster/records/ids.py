"""Names, identifiers and keys of the store: their form and their construction.

Every identifier is safe as the name of one folder, so a path of identifiers below a folder stays inside that folder.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator

from qagen_dagster.records.base import Record

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_UNSAFE = re.compile(r"(?:[^A-Za-z0-9_.-]|\.{3,})+")
_MAX_ID = 120
_RESERVED = frozenset({"index.json", "set.json"})  # files beside the folders of documents


def check_name(value: str) -> str:
    """Return `value` if it can be the segment of a partition key and the name of a folder. Otherwise raise ValueError."""
    if not _NAME.fullmatch(value) or "..." in value or set(value) <= {"."}:
        raise ValueError(f"{value!r} is not a name: use 1-128 of A-Z a-z 0-9 _ . - (and no '...')")
    return value


Name = Annotated[str, AfterValidator(check_name)]


def store_key(folder: str, *names: str, suffix: str = "") -> str:
    """The key `folder/name/...` plus `suffix`. Raises ValueError for a segment that is not a name."""
    return "/".join(check_name(segment) for segment in (*folder.split("/"), *names)) + suffix


class Mode(StrEnum):
    """The source of the answer to a question: the text of the document, or pictures of its pages."""

    TEXTUAL = "textual"
    VISUAL = "visual"


class Combination(Record):
    """A corpus, a scenario and a mode: one partition."""

    corpus: Name
    scenario: Name
    mode: Mode

    @property
    def key(self) -> str:
        """The partition key, `corpus/scenario/mode`."""
        return f"{self.corpus}/{self.scenario}/{self.mode.value}"

    @classmethod
    def from_key(cls, key: str) -> "Combination":
        """Parse a partition key; raises ValueError unless it has three valid segments."""
        parts = key.split("/")
        if len(parts) != 3:
            raise ValueError(f"{key!r} is not corpus/scenario/mode")
        return cls(corpus=parts[0], scenario=parts[1], mode=Mode(parts[2]))

    def history_key(self, run_id: str, path: str) -> str:
        """The key of the copy that a run keeps of the file `path` in the history."""
        return store_key(f"history/{self.key}", run_id, *path.split("/"))

    def spending_folder(self, spending_id: str) -> str:
        return store_key("spending", spending_id, *self.key.split("/"))


class OfCombination(Record):
    """A record of one combination."""

    corpus: str
    scenario: str
    mode: Mode

    @property
    def combination(self) -> Combination:
        return Combination(**self.shared(Combination))


def document_id(relative_path: str, row: str | None = None) -> str:
    """A folder-safe id for a document: its path under `documents/`, plus the row of a JSONL file.

    `/` becomes `--`, and unsafe characters become `_`. An id is cut to at most 111 characters if it is too long, or if another document or
    one of our files might have the same name. It then gets a suffix: `-` and eight hexadecimal digits of a hash of the path and the row.
    """
    original = relative_path if row is None else f"{relative_path}#{row}"
    joined = original.replace("/", "--") if row is None else f"{relative_path.replace('/', '--')}--{row}"
    safe = _UNSAFE.sub("_", joined).strip(".") or "document"
    lossy = (
        safe != joined
        or safe in _RESERVED
        or "--" in relative_path
        or "--" in (row or "")
        or len(safe) > _MAX_ID
    )
    if not lossy:
        return safe
    return f"{safe[: _MAX_ID - 9]}-{digest(original)[:8]}"


def digest(*parts: str | bytes) -> str:
    """SHA-256 in hexadecimal over length-prefixed parts, so that ("a", "bc") != ("ab", "c")."""
    state = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        state.update(len(data).to_bytes(8, "big"))
        state.update(data)
    return state.hexdigest()


def content_hash(data: bytes) -> str:
    """Plain SHA-256 of bytes in hexadecimal: the identity of a file's content."""
    return hashlib.sha256(data).hexdigest()


def normalise(text: str) -> str:
    """The text in NFKC, case-folded and with single spaces. Questions with the same normalised text count as the same."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def question_id(combination: Combination, document: str, question: str, answer: str) -> str:
    """`q-` and 16 hexadecimal digits, stable over reruns: it depends on content, not on time or order."""
    return "q-" + digest(combination.key, document, normalise(question), normalise(answer))[:16]


def fingerprint(parts: Iterable[str | bytes]) -> str:
    """Sixteen hexadecimal digits that change when any of `parts` changes."""
    return digest(*parts)[:16]
