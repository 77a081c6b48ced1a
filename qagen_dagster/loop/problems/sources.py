"""Reads files into problems. An item of a TeX file is a problem, and so is a picture or a PDF page if no range of problems is wanted.

The parser workers decode and render pictures, which are kept in the store. For a range, the model of the classifier names the box of each
problem on a page, and each box is cut out as a picture. The model's reply is in the ledger, so a resumed command does not pay again.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path

from qagen_dagster import untrusted_file
from qagen_dagster.agents.problems import FIND, Asking, ask, find_prompt
from qagen_dagster.configuration.problems import ProblemSet
from qagen_dagster.configuration.profiles import Role, problem_specs
from qagen_dagster.errors import ConfigError, DocumentError, TooLargeError
from qagen_dagster.formats.base import PageImage, ParsedText, ParseOptions, RenderOptions
from qagen_dagster.formats.decoding import decode
from qagen_dagster.formats.image import cut, enlarge
from qagen_dagster.formats.parser_pool import FileSource
from qagen_dagster.latex.structure import split_items
from qagen_dagster.loop.problems.code_checks import select_range
from qagen_dagster.loop.problems.plan import ProblemOptions, keep_picture, see_picture
from qagen_dagster.loop.problems.run_problem import BLIND, result_of
from qagen_dagster.loop.shared_budget import BudgetMeter, RunSpending, effective_budget, metered
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.base import Model
from qagen_dagster.records.ids import fingerprint
from qagen_dagster.records.problems.config import IMAGES
from qagen_dagster.records.problems.result import (
    ProblemBank,
    ProblemSources,
    SourceReport,
    Stage,
    Task,
    TaskEnd,
    TaskResult,
)
from qagen_dagster.records.problems.submissions import (
    Breach,
    PageResult,
    PlaceOnPage,
    Problem,
    ProblemInput,
    QuestionKind,
)
from qagen_dagster.records.run import CallSummary

TEX, PDF = ".tex", ".pdf"
MOST_TEX_BYTES = 20_000_000
_KINDS = "supported files: .png, .jpg, .jpeg, .webp, .pdf (each page is a problem) and .tex"
_BODY = re.compile(r"\\begin[ \t]*\{document\}(.*?)(?:\\end[ \t]*\{document\}|\Z)", re.DOTALL)
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
_QUIET = ParseOptions(ocr=False)
Range = tuple[int, int]
_MOST_COVERED = 0.5  # maximum share of a box that another box may cover
_MARGIN = 0.005  # margin around a box, as a share of the page


@dataclass(frozen=True)
class Named:
    """A file to read. `wanted` selects its items or pages, both ends included.

    `kind` is the kind of question that the user stated; None if the user stated none.
    If `within` is given (the path of a folder, with links resolved), the file is read only if it is inside that folder.
    """

    path: Path
    shown: str
    wanted: Range | None = None
    kind: QuestionKind | None = None
    within: Path | None = None

    @property
    def source(self) -> FileSource:
        """The file for a parser worker, which may have another working directory."""
        return FileSource(self.path.name, self.path.absolute(), self.within)


def read_file(space: Workspace, named: Named) -> tuple[Problem, ...]:
    """The problems of one file.

    Raises ConfigError for an unknown kind of file, an empty range and a file without a problem. Raises DocumentError, with the
    path, for a file that cannot be read.
    """
    suffix = named.path.suffix.lower()
    if suffix == TEX:
        return _of_tex(named)
    if suffix == PDF:
        return tuple(_of_pdf(space, named))
    if suffix in IMAGES:
        return select_range((_of_picture(space, named, 1, _prefix_of(named.path)),), named.wanted)
    raise ConfigError(f"{named.shown}: {suffix or 'a file without a suffix'} is not supported; {_KINDS}")


def beyond(path: Path, count: int, wanted: Range) -> ConfigError:
    """The error of a range that goes beyond the `count` problems of a file."""
    there = "there is 1 problem" if count == 1 else f"there are {count} problems"
    return ConfigError(f"{path}: {there}, and -r asks for {wanted[0]} to {wanted[1]}")


def read_set(space: Workspace, problem_set: ProblemSet) -> ProblemSources:
    """All problems of a set, with unique ids. Raises as `read_file` does."""
    problems: list[Problem] = []
    reports: list[SourceReport] = []
    taken: set[str] = set()
    root = problem_set.sources_root()
    for source in problem_set.config.sources:
        named = Named(root / source.file, source.file, source.range or source.pages, source.kind, root)
        found = read_file(space, named)
        fresh = _renamed(found, taken)
        taken |= {one.id for one in fresh}
        problems += fresh
        reports.append(SourceReport(file=source.file, problems=len(fresh)))
    return ProblemSources(problems=tuple(problems), sources=tuple(reports))


def combined(problem_id: str, source: str, parts: Sequence[str], style: str = "") -> Problem:
    """A problem that asks to combine the items `parts`."""
    return Problem(
        id=problem_id, input=ProblemInput.COMBINED, source_path=source, parts=tuple(parts), style=style
    )


def described(words: str) -> Problem:
    """A problem that is only the description of a diagram in words."""
    return Problem(id="diagram", input=ProblemInput.DESCRIPTION, source_path="description", tex=words)


def _of_tex(named: Named) -> tuple[Problem, ...]:
    text = decode(_bytes_of(named)).text.replace("\r\n", "\n").replace("\r", "\n")
    if "\0" in text:
        raise DocumentError("binary", f"{named.shown} is not text")
    cut = split_items(text)
    items = list(cut.bare_items)
    if not items:
        body = _BODY.search(text)
        items = [(body.group(1) if body else text).strip()]
    if not any(items):
        raise ConfigError(f"{named.shown} contains no problem")
    width = max(2, len(str(len(items))))
    problems = [
        Problem(
            id=f"{_prefix_of(named.path)}-{number:0{width}d}",
            input=ProblemInput.TEX,
            source_path=named.shown,
            index=number,
            tex=item,
            preamble=cut.preamble,
            kind=named.kind,
        )
        for number, item in enumerate(items, 1)
    ]
    return select_range(problems, named.wanted)


def _bytes_of(named: Named) -> bytes:
    try:
        return untrusted_file.read_file(named.path, MOST_TEX_BYTES, named.within)
    except TooLargeError as error:
        raise DocumentError(error.outcome, f"{named.shown}: {error.detail}") from None
    except OSError as error:
        raise DocumentError("corrupt", f"{named.shown}: {error.strerror}") from None


def _of_pdf(space: Workspace, named: Named) -> Iterator[Problem]:
    pages = _page_count(space, named)
    first, last = named.wanted or (1, pages)
    if not 1 <= first <= last:
        raise ConfigError(f"a range is START END with 1 <= START <= END, not {first} {last}")
    if last > pages:
        raise DocumentError("unsupported", f"{named.shown}: there is no page {last}: it has {pages}")
    for page in range(first, last + 1):
        yield _of_picture(space, named, page, f"{_prefix_of(named.path)}-p{page}")


def _page_count(space: Workspace, named: Named) -> int:
    """The number of pages of a PDF. Raises DocumentError if the PDF cannot be read."""
    parsed = space.parsers().parse(named.source, _QUIET)
    count = next((entry.page_count for entry in parsed.entries if isinstance(entry, ParsedText)), None)
    if not count:
        raise DocumentError(parsed.outcome.value, f"{named.shown}: {parsed.detail or 'it has no page'}")
    return count


def _of_picture(
    space: Workspace, named: Named, page: int, problem_id: str, index: int = 0, image: PageImage | None = None
) -> Problem:
    """The problem on a page, or in `image`, if a part of the page is given. In this case `index` is the problem's number in the file."""
    image = image or drawn(space, named, page)
    return Problem(
        id=problem_id,
        input=ProblemInput.IMAGE,
        source_path=named.shown if named.path.suffix.lower() != PDF else f"{named.shown}#page={page}",
        index=index or page,
        picture=keep_picture(space.store, image.data, image.media_type),
        kind=named.kind,
    )


def drawn(space: Workspace, named: Named, page: int, how: RenderOptions | None = None) -> PageImage:
    """A page as a picture. Raises DocumentError, with the path, if it cannot be read."""
    try:
        image = space.parsers().render(named.source, page, _QUIET, how or RenderOptions())
    except DocumentError as error:
        kinds = "" if named.path.suffix.lower() == PDF else f"; {_KINDS}"
        raise DocumentError(error.outcome, f"{named.shown}: {error.detail}{kinds}") from None
    if image is None:
        raise DocumentError("unsupported", f"{named.shown} cannot be shown; {_KINDS}")
    return image


def _prefix_of(path: Path) -> str:
    """The name of a file as the beginning of an id."""
    return _UNSAFE.sub("-", path.stem).strip("-")[:60] or "problem"


def _renamed(problems: Sequence[Problem], taken: set[str]) -> list[Problem]:
    """The problems with ids that are not in `taken`, because several files may have the same stem."""
    if not any(problem.id in taken for problem in problems):
        return list(problems)
    number = 2
    while any(f"{problem.id}.{number}" in taken for problem in problems):
        number += 1
    return [problem.model_copy(update={"id": f"{problem.id}.{number}"}) for problem in problems]


def find_problems(
    space: Workspace, path: Path, wanted: Range, options: ProblemOptions, run_id: str, name: str
) -> tuple[tuple[Problem, ...], list[CallSummary]]:
    """The problems `wanted` (both ends included) of a picture or a PDF, counted through all pages from 1; and the calls that found them.

    Pages after the last wanted problem are not looked at. Raises ConfigError for a range that the file does not have (the message says how
    many problems there are) and for a model that takes no pictures; DocumentError for a page on which no problem is found; ModelError.
    """
    first, last = wanted
    if not 1 <= first <= last:
        raise ConfigError(f"a range is START END with 1 <= START <= END, not {first} {last}")
    named = Named(path, str(path))
    model = _classifier(space, options, run_id, name)
    pages = _page_count(space, named) if path.suffix.lower() == PDF else 1
    found: list[tuple[int, PlaceOnPage]] = []
    calls: list[CallSummary] = []
    for page in range(1, pages + 1):
        if len(found) < last:
            places, asked = _look(space, named, page, model, name)
            found += [(page, place) for place in places]
            calls += asked
    if len(found) < last:
        raise beyond(path, len(found), wanted)
    numbered = enumerate(found[first - 1 : last], first)
    return tuple(_cut_out(space, named, number, page, place) for number, (page, place) in numbered), calls


def _classifier(space: Workspace, options: ProblemOptions, run_id: str, name: str) -> Model:
    """The classifier's model, within the budget of the run. Raises ConfigError if it takes no pictures."""
    profile_name = options.profile or space.settings.profile
    profile = space.profile(profile_name)
    spec = problem_specs(profile, profile_name)[Role.CLASSIFIER]
    if not spec.images:
        raise ConfigError(BLIND.format(name=spec.name, role=Role.CLASSIFIER.value))
    spending = RunSpending(space.store, ProblemBank.spending_folder(run_id, name))
    meter = BudgetMeter(effective_budget(profile, options.limits), spending, subject="problem")
    return metered(space.model(spec), meter)


def _look(
    space: Workspace, named: Named, page: int, model: Model, name: str
) -> tuple[tuple[PlaceOnPage, ...], tuple[CallSummary, ...]]:
    """The places of the problems on a page. The result is stored with its calls, so that the catalog knows what it cost."""
    image = drawn(space, named, page)
    picture = keep_picture(space.store, image.data, image.media_type)
    account = f"{_prefix_of(named.path)}-p{page}"
    asking = Asking(model, account, _box_faults, pictures=(see_picture(space.store, picture),))
    reply = ask(FIND, find_prompt(), asking, {})
    known, at = (
        fingerprint([model.spec.name, find_prompt().hash, picture.sha256]),
        datetime.now(UTC).isoformat(),
    )
    result = result_of(Task(stage=Stage.FIND), reply, model, fingerprint=known, at=at)
    space.store.write(TaskResult.key(name, account, result.task.key, result.fingerprint), result)
    if reply.end is not TaskEnd.DONE or reply.result is None:
        raise DocumentError(
            "unsupported", f"{named.shown}: no problem was found on page {page}: {reply.detail}"
        )
    return reply.result.problems, reply.calls


def _box_faults(result: PageResult) -> tuple[Breach, ...]:
    """Boxes without an area, and boxes around the same part of the page."""
    boxes = list(enumerate(result.problems, 1))
    empty = [f"box {number} has no area" for number, box in boxes if box.is_empty]
    twice = [
        f"boxes {one} and {other} hold the same part of the page"
        for (one, first), (other, second) in combinations(boxes, 2)
        if max(first.covers(second), second.covers(first)) > _MOST_COVERED
    ]
    return tuple(Breach(property=FIND.shape, detail=detail) for detail in (*empty, *twice))


def _cut_out(space: Workspace, named: Named, number: int, page: int, place: PlaceOnPage) -> Problem:
    """The problem in a box, drawn finer than the whole page, with a narrow margin."""
    part = (
        max(0.0, place.left - _MARGIN),
        max(0.0, place.top - _MARGIN),
        min(1.0, place.right + _MARGIN),
        min(1.0, place.bottom + _MARGIN),
    )
    how = RenderOptions()
    image = cut(drawn(space, named, page, enlarge(how, part)), part, how)
    return _of_picture(space, named, page, f"{_prefix_of(named.path)}-{number:02d}", number, image)
