"""Reads folders of references (PDF, TeX, STY), cuts them into passages, and searches these by words and embeddings together.

Missing folders and unreadable files are logged and left out. Only names of files and headings are embedded, because embeddings of code
rarely help a search, and because even a manual of a thousand pages has few headings.
"""

import logging
import re
import threading
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np

from qagen_dagster.errors import ModelError, TooLargeError
from qagen_dagster.formats.base import ParsedText, ParseOptions
from qagen_dagster.formats.decoding import decode
from qagen_dagster.formats.parser_pool import FileSource, ParserPool
from qagen_dagster.index import ranking
from qagen_dagster.index.ranking import WORDS_VERSION, words_of
from qagen_dagster.models.embedders import Embedder, Vectors
from qagen_dagster.records.ids import digest, fingerprint
from qagen_dagster.untrusted_file import read_file

PASSAGES_VERSION = "2"  # raise it if the same text gives different passages
MOST_CHARACTERS = 1_800  # maximum characters of a passage
MOST_TITLE = 80
_ENOUGH = 700  # characters after which an empty line ends a passage
_MOST_OF_EXAMPLE = 3_600  # examples up to this length are not cut
_EXAMPLE = re.compile(
    r"\\(begin|end)\{(?:codeexample|ctikzExample|LTXexample|tikzpicture|circuitikz|lstlisting|verbatim)\}"
)
_DISUSED = re.compile(r"[ \t]*%[ \t%]*\\[A-Za-z]")  # code that is commented out
_LEVELS = ("part", "chapter", "section", "subsection", "subsubsection", "paragraph")
_HEADING = re.compile(
    rf"[ \t]*\\(?P<level>{'|'.join(_LEVELS)})\*?[ \t]*(?:\[[^\]\n]{{0,200}}\])?\{{(?P<title>.*)"
)
_COMMAND = re.compile(r"\\(?:label|index|cite|footnote)\{[^{}]{0,200}\}|\\[A-Za-z@]+\*?|[{}$~|\\]")
_LICENCE = re.compile(r"copyright|licen[cs]e", re.IGNORECASE)
_PARTS = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z])(?=[A-Z])")


@dataclass(frozen=True)
class Passage:
    """Some lines of a reference. `path` is the file's displayed path. Lines count from 1; for a PDF, they are lines of its text."""

    path: str
    start_line: int
    end_line: int
    headings: tuple[str, ...]  # outermost first
    text: str

    @property
    def file_type(self) -> str:
        return PurePosixPath(self.path).suffix.lower().lstrip(".")


def passages_of(path: str, text: str, headings: Sequence[tuple[int, int, str]] = ()) -> tuple[Passage, ...]:
    """The passages of a text, in order, without licences and commented-out code. `headings` are the line, level
    and title of headings that the text itself does not mark, as in a PDF."""
    marked = {line: (level, title) for line, level, title in headings}
    trail: dict[int, str] = {}
    found: list[Passage] = []
    for start, lines in _blocks(text.split("\n"), frozenset(marked)):
        level, title = marked.get(start) or _heading(lines[0]) or (0, "")
        if title:
            trail = {above: one for above, one in trail.items() if above < level} | {level: title}
        first, last = _filled(lines)
        kept = "\n".join(lines[first : last + 1])
        if kept and not _licence(kept) and not _disused(kept):
            titles = tuple(trail[one] for one in sorted(trail))
            found.append(Passage(path, start + first, start + last, titles, kept))
    return tuple(found)


def stem_words(path: str) -> str:
    """The words of a file's name: `pgfmanual en library 3d` for `pgfmanual-en-library-3d.tex`."""
    return " ".join(one for one in _PARTS.split(PurePosixPath(path).stem) if one)


def _blocks(lines: list[str], headings: frozenset[int]) -> Iterator[tuple[int, list[str]]]:
    """Runs of lines, each with the number of its first line. A heading, or a line of `headings`, begins a run. An empty line ends a run
    that is long enough. A run that is too long is cut. An example is not cut unless it is very long."""
    block: list[str] = []
    size = depth = 0
    for number, line in enumerate(lines, 1):
        heads = number in headings or _heading(line) is not None
        most = _MOST_OF_EXAMPLE if depth else MOST_CHARACTERS
        full = size + len(line) > most or (size >= _ENOUGH and not depth and not line.strip())
        if block and (heads or full):
            yield number - len(block), block
            block, size = [], 0
        for mark in _EXAMPLE.finditer(line):
            depth = max(0, depth + (1 if mark.group(1) == "begin" else -1))
        depth = 0 if heads else depth
        block.append(line)
        size += len(line) + 1
    if block:
        yield len(lines) + 1 - len(block), block


def _heading(line: str) -> tuple[int, str] | None:
    found = _HEADING.match(line)
    if found is None:
        return None
    title = " ".join(_COMMAND.sub(" ", found.group("title")).split())[:MOST_TITLE]
    return (_LEVELS.index(found.group("level")), title) if title else None


def _filled(lines: list[str]) -> tuple[int, int]:
    """The places of the first and the last line with more than white space, comment characters and braces; (0, -1) if there are none."""
    full = [place for place, line in enumerate(lines) if line.strip(" \t%{}")]
    return (full[0], full[-1]) if full else (0, -1)


def _disused(text: str) -> bool:
    """Whether most of the lines are commented-out code, which is no useful example."""
    lines = [line for line in text.split("\n") if line.strip()]
    return 2 * sum(_DISUSED.match(line) is not None for line in lines) > len(lines)


def _licence(text: str) -> bool:
    """Whether the lines are only a licence in comments."""
    return _LICENCE.search(text) is not None and all(
        line.lstrip()[:1] in ("%", "") for line in text.split("\n")
    )


FILE_TYPES = ("pdf", "tex", "sty")
MOST_BYTES = 20_000_000  # maximum size of a file
MOST_FILES = 2_000
MOST_OF_A_FILE = 2  # maximum results from one file, so that one long manual does not take all places
_LABEL_WEIGHT = 3  # how often a word of a label counts in addition to the text
_LEAST_MEANING = 0.35  # minimum cosine of a passage that has none of the query's words
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Reference:
    """A passage that a search has found. `score` (0-1) is computed from the scores of the two methods, words and meaning."""

    passage: Passage
    score: float


@dataclass(frozen=True)
class _File:
    path: str
    sha256: str
    passages: tuple[Passage, ...]


class ReferenceStore:
    """References in memory. Many threads may use it. `skipped` has a line for each file or folder that was left out."""

    def __init__(self, files: Sequence[_File], skipped: Sequence[str], embedder: Embedder) -> None:
        self.skipped = tuple(skipped)
        self.passages = tuple(passage for file in files for passage in file.passages)
        spec = sorted(f"{name}={value}" for name, value in embedder.spec.identity().items())
        read = [f"{file.path}\n{file.sha256}" for file in files]
        self.version = fingerprint([PASSAGES_VERSION, WORDS_VERSION, *spec, *read]) if files else ""
        self._embedder, self._guard = embedder, threading.Lock()
        self._names = _names([file.path for file in files])
        self._bags = [_bag(one, self._label(one)) for one in self.passages]
        self._lengths = np.array([bag.total() for bag in self._bags], dtype=np.float64)
        self._postings: dict[int, list[tuple[int, int]]] = {}
        for row, bag in enumerate(self._bags):
            for word, times in bag.items():
                self._postings.setdefault(word, []).append((row, times))
        self._labels: Vectors | None = None

    def search(
        self, query: str, file_types: Collection[str] | None = None, limit: int = 3
    ) -> list[Reference]:
        """The passages that fit `query`, from files of these types (None means all), best first: at most `limit`, at most two of a file."""
        rows = self._of_types(file_types)
        if not query.strip() or not rows.size:
            return []
        shares = self._words(query)[rows]
        meanings = self._meanings(query)[rows]
        total = ranking.both(meanings, shares)
        found: list[Reference] = []
        taken = Counter[str]()
        for place in np.argsort(-total, kind="stable"):
            passage = self.passages[int(rows[place])]
            if len(found) == limit:
                break
            if taken[passage.path] == MOST_OF_A_FILE or not (
                shares[place] or meanings[place] >= _LEAST_MEANING
            ):
                continue
            taken[passage.path] += 1
            found.append(Reference(passage, float(total[place])))
        return found

    def _label(self, passage: Passage) -> str:
        """The text that represents a passage: its file's name and its headings."""
        return " ".join((self._names[passage.path], *passage.headings))

    def _of_types(self, file_types: Collection[str] | None) -> ranking.Integers:
        wanted = None if file_types is None else {one.lower().lstrip(".") for one in file_types}
        kept = [row for row, one in enumerate(self.passages) if wanted is None or one.file_type in wanted]
        return np.array(kept, dtype=np.int64)

    def _words(self, query: str) -> ranking.Floats:
        """The BM25 score of every passage, as a share of the highest score that the query allows."""
        asked = words_of(query)
        entries = [(row, word, times) for word in asked for row, times in self._postings.get(word, ())]
        table = np.array(entries, dtype=np.int64).reshape(-1, 3)
        _, shares = ranking.bm25(
            self._lengths, table[:, 0], table[:, 1], table[:, 2].astype(np.float64), len(asked)
        )
        return shares

    def _meanings(self, query: str) -> ranking.Floats:
        """The cosine of every passage's label with the query; all 0 if the embedder fails."""
        try:
            vector = self._embedder.query(query)
            labels = self._vectors()
        except ModelError as error:
            _LOG.warning("references are searched by words alone: %s", error)
            return np.zeros(len(self.passages))
        return (labels @ vector).astype(np.float64)

    def _vectors(self) -> Vectors:
        """The embedding of each passage's label. It is computed at the first search. Raises ModelError."""
        with self._guard:
            if self._labels is None:
                texts = [self._label(passage) for passage in self.passages]
                unique = list(dict.fromkeys(texts))
                places = {text: place for place, text in enumerate(unique)}
                self._labels = self._embedder.passages(unique)[[places[text] for text in texts]]
            return self._labels


def read_references(folders: Iterable[Path], embedder: Embedder, parsers: ParserPool) -> ReferenceStore:
    """Read all PDF, TeX and STY files of each folder, in the order of their names."""
    files: list[_File] = []
    skipped: list[str] = []
    for path, shown in _listed(folders, skipped):
        try:
            data = _bytes(path)
            passages = _pdf(path, shown, parsers) if path.suffix.lower() == ".pdf" else _tex(data, shown)
        except (OSError, ValueError) as error:
            _skip(skipped, f"{path}: {error}")
            continue
        files.append(_File(shown, digest(data), passages))
    return ReferenceStore(files, skipped, embedder)


def _listed(folders: Iterable[Path], skipped: list[str]) -> Iterator[tuple[Path, str]]:
    """The files to read, with their displayed paths, which begin with the name of the folder."""
    for folder in dict.fromkeys(folders):
        if not folder.is_dir():
            _skip(skipped, f"{folder}: there is no such folder; it is left out")
            continue
        try:
            found = [
                path
                for path in sorted(folder.rglob("*"))
                if path.suffix.lower().lstrip(".") in FILE_TYPES and path.is_file()
            ]
        except (OSError, RecursionError):
            _skip(skipped, f"{folder}: it cannot be listed, or a path in it is too long; it is left out")
            continue
        if len(found) > MOST_FILES:
            _skip(skipped, f"{folder}: of {len(found)} files only the first {MOST_FILES} are read")
        for path in found[:MOST_FILES]:
            yield path, (Path(folder.resolve().name) / path.relative_to(folder)).as_posix()


def _bytes(path: Path) -> bytes:
    """The content of a file. Raises OSError, and ValueError if it is too large."""
    try:
        return read_file(path, MOST_BYTES)
    except TooLargeError:
        raise ValueError(f"larger than {MOST_BYTES // 1_000_000} MB; it is left out") from None


def _tex(data: bytes, shown: str) -> tuple[Passage, ...]:
    text = decode(data).text.replace("\r\n", "\n").replace("\r", "\n")
    if "\0" in text:
        raise ValueError("not a text file; it is left out")
    return passages_of(shown, text)


def _pdf(path: Path, shown: str, parsers: ParserPool) -> tuple[Passage, ...]:
    parsed = parsers.parse(FileSource(shown, path), ParseOptions(ocr=False))
    text = next((one for one in parsed.entries if isinstance(one, ParsedText) and one.text.strip()), None)
    if text is None:
        raise ValueError(f"{parsed.detail or 'it has no text'}; it is left out")
    headings = [(section.start_line, section.level, section.title) for section in text.sections]
    return passages_of(shown, text.text, headings)


def _skip(skipped: list[str], reason: str) -> None:
    _LOG.warning("%s", reason)
    skipped.append(reason)


def _names(paths: Sequence[str]) -> dict[str, str]:
    """The words of each file's name, without the words that most names share, such as a manual's name."""
    words = {path: stem_words(path).split() for path in paths}
    shared = Counter(word for one in words.values() for word in set(one))
    common = {word for word, times in shared.items() if times > max(2, len(words) / 2)}
    return {path: " ".join(word for word in one if word not in common) for path, one in words.items()}


def _bag(passage: Passage, label: str) -> Counter[int]:
    """The count of each word in a passage. Words of its label have a higher weight."""
    bag = words_of(passage.text)
    for word, times in words_of(label).items():
        bag[word] += _LABEL_WEIGHT * times
    return bag
