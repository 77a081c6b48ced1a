"""Builds the bank of a problem set from the results of its tasks: items, combinations, files, exports, and pictures for people."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from qagen_dagster.agents.problems import prompts
from qagen_dagster.agents.prompts import own_prompts
from qagen_dagster.configuration.problems import CONFIG_NAME, ProblemSet, find_problem_set
from qagen_dagster.configuration.profiles import problem_specs
from qagen_dagster.errors import ConfigError, DocumentError, StoreError
from qagen_dagster.formats.base import PageImage, Source
from qagen_dagster.latex.answer_key import stated_answer
from qagen_dagster.latex.engine import USUAL_LIBRARIES, packages_of, sign_declarations
from qagen_dagster.latex.structure import options_of, question_of, solution_of
from qagen_dagster.loop.configuration import is_free_for_paid, model_names
from qagen_dagster.loop.figures import NOT_DRAWN, QUIET, SMALL, Drawing, draw_figures, undrawn
from qagen_dagster.loop.problems import code_checks
from qagen_dagster.loop.problems.inputs import engine_compiler, find_references, with_diagram
from qagen_dagster.loop.problems.plan import ProblemOptions, SetPlan, picture_key, plan_set, wishes_of
from qagen_dagster.loop.problems.run_set import gather_bank, gather_record, pipeline_result
from qagen_dagster.loop.problems.sources import read_set
from qagen_dagster.loop.review_decisions import edits_of, rejections_of
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.publishing.markup import exported
from qagen_dagster.publishing.problems.formats import PROBLEM_EXPORTERS
from qagen_dagster.publishing.problems.tex_project import left_out
from qagen_dagster.records.decisions import Decision, problem_set_key
from qagen_dagster.records.problems.result import (
    NOT_SOLVED,
    ORIGINAL,
    BankExport,
    BankItem,
    CompileOutcome,
    ProblemBank,
    ProblemRecord,
    ProblemSources,
    Stage,
    TaskResult,
)
from qagen_dagster.records.problems.submissions import Breach, Format, Problem, ProblemInput, VariantKind

SOURCES = "sources.json"
FILES = ("bank.json", "results.jsonl")
EXPORTS = "exports"


def whole_item(record: ProblemRecord) -> str:
    """The LaTeX of a problem's item, with its diagram."""
    return with_diagram(record.latex, record.tikz.tikz_code if record.tikz is not None else "")


def combined(
    groups: Sequence[Sequence[str]], style: str, records: Mapping[str, ProblemRecord]
) -> tuple[list[Problem], list[str]]:
    """One problem for each group of ids, `multi-1` and so on, if all parts are scanned and drawn; and one line for each other group."""
    problems: list[Problem] = []
    missing: list[str] = []
    for number, group in enumerate(groups, 1):
        lacking = [one for one in group if one not in records or not _whole(records[one])]
        if lacking:
            missing.append(f"multi-{number}: there is no finished item of {', '.join(lacking)}")
            continue
        problems.append(
            Problem(
                id=f"multi-{number}",
                input=ProblemInput.COMBINED,
                source_path=" + ".join(group),
                index=number,
                parts=tuple(whole_item(records[one]) for one in group),
                preamble=next((records[one].problem.preamble for one in group), ""),
                style=style,
            )
        )
    return problems, missing


def _whole(record: ProblemRecord) -> bool:
    """Whether a problem has a complete item, with its diagram if it needs one."""
    done = {task.task.stage for task in record.tasks if task.end.ok}
    return {Stage.SCAN, Stage.DIAGRAM} <= done and bool(record.latex.strip())


def thumbnail(space: Workspace, problem: Problem) -> PageImage | None:
    """The picture of a problem as a thumbnail; None if there is no picture or it cannot be drawn."""
    if problem.picture is None:
        return None
    name = "picture.png" if problem.picture.media_type == "image/png" else "picture.jpg"
    picture = Source(name, space.store.read_bytes(picture_key(problem.picture)))
    try:
        return space.parsers().render(picture, 1, QUIET, SMALL)
    except DocumentError:
        return None


@dataclass(frozen=True)
class PublishedBank:
    """A set's current bank, its export, the paths of all its files and of changed files, and a line for each problem that must wait."""

    bank: ProblemBank
    export: BankExport
    paths: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


def published_bank(space: Workspace, key: str) -> ProblemBank | None:
    """The published bank of a set; None if there is none, or it is damaged and must be made again."""
    return space.store.find_valid(ProblemBank.file_key(key, FILES[0]), ProblemBank)


def read_sources(space: Workspace, key: str) -> ProblemSources:
    """The problems of a set as they were last read. Raises StoreError if they were never read."""
    found = space.store.find(ProblemBank.file_key(key, SOURCES), ProblemSources)
    if found is None:
        raise StoreError(f"problem set {key} has not been read: materialize problem_sources first")
    return found


def keep_sources(space: Workspace, problem_set: ProblemSet) -> ProblemSources:
    """Read a set's sources and store its problems. Raises as `sources.read_file` does."""
    found = read_set(space, problem_set)
    space.store.write(ProblemBank.file_key(problem_set.key, SOURCES), found)
    return found


def plan_problem_set(
    space: Workspace, problem_set: ProblemSet, options: ProblemOptions | None = None
) -> SetPlan:
    """Plan a set of the corpora as its author configured it, including combined problems. Raises ConfigError and StoreError."""
    config = problem_set.config
    wished = _as_made(space, problem_set, options or ProblemOptions())
    seed = config.seed if wished.seed is None else wished.seed
    former = _former(space, problem_set.key)
    sources = read_sources(space, problem_set.key).problems
    plan = plan_set(
        space,
        problem_set.key,
        sources if wished.replace else _as_published(sources, former),
        wishes_of(problem_set),
        wished.model_copy(update={"profile": wished.profile or config.profile, "seed": seed}),
        compiler=engine_compiler(),
        references=find_references(space, problem_set.references)[0],
        prompts=own_prompts(prompts(), problem_set.prompts),
        former=former,
        replace=wished.replace,
        refresh=wished.refresh,
        given=(wished.profile, wished.seed),
        solve=config.solve,
    )
    more, missing = _combined(space, plan, problem_set)
    added = more if wished.replace else _as_published(more, former)
    return replace(plan, problems=(*plan.problems, *added), missing=tuple(missing))


def _as_made(space: Workspace, problem_set: ProblemSet, wished: ProblemOptions) -> ProblemOptions:
    """The options of a run. A refresh has the bank's profile and seed. It replaces results unless free models would replace paid ones."""
    made = published_bank(space, problem_set.key)
    if made is None or not wished.refresh:
        return wished
    profile = wished.profile or made.profile
    name = profile or problem_set.config.profile or space.settings.profile
    wanted = model_names(problem_specs(space.profile(name), name)).values()
    models = (task.model for problem in made.problems for task in problem.tasks if task.model)
    anew = not is_free_for_paid(models, wanted)
    return wished.model_copy(update={"profile": profile, "seed": made.seed, "replace": anew})


def changed_sources(space: Workspace, plan: SetPlan) -> list[str]:
    """One line for each problem whose source has changed since the bank was made. The bank keeps the earlier problem."""
    now = read_sources(space, plan.name).problems
    return [
        f"{one.id}: its source has changed, and the bank keeps the earlier problem; --replace takes the new one"
        for one in now
        if plan.problem(one.id).fingerprint != one.fingerprint
    ]


def _former(space: Workspace, key: str) -> dict[str, ProblemRecord]:
    """The accepted problems of the published bank. If the bank is damaged, they are taken from its history."""
    bank = published_bank(space, key)
    if bank is not None:
        return {one.id: one for one in bank.finished}
    by_line = {
        result.model_dump_json(): record
        for name in space.store.list(ProblemBank.file_key(key, "history"))
        if name.endswith(f"/{FILES[0]}") and (known := space.store.find_valid(name, ProblemBank))
        for record in known.finished
        if (result := pipeline_result(record)) is not None
    }
    lines = (space.store.get(ProblemBank.file_key(key, FILES[1])) or b"").decode("utf-8", "replace")
    return {by_line[line].id: by_line[line] for line in lines.split("\n") if line in by_line}


def _as_published(problems: Sequence[Problem], former: Mapping[str, ProblemRecord]) -> tuple[Problem, ...]:
    """The problems. If the source of a published problem has changed, the published problem is returned in its place."""
    found = ((one, former[one.id].problem if one.id in former else one) for one in problems)
    return tuple(now if now.fingerprint == then.fingerprint else then for now, then in found)


def open_bank(space: Workspace, plan: SetPlan) -> ProblemBank:
    """All problems of a set of the corpora in their current state. Raises ConfigError for an unknown set."""
    title = find_problem_set(space.settings.corpora, plan.name).config.name
    return reviewed(space, gather_bank(space, plan, title))


def reviewed(space: Workspace, bank: ProblemBank) -> ProblemBank:
    """The bank with the reviewers' edits, in which the items that they rejected are withdrawn. Raises StoreError for a damaged decision."""
    key = problem_set_key(bank.name)
    rejections, edits = rejections_of(space, key), edits_of(space, key)
    problems = tuple(_with_reviews(problem, rejections, edits) for problem in bank.problems)
    return bank.model_copy(update={"problems": problems})


def _with_reviews(
    record: ProblemRecord, rejections: Mapping[str, str], edits: Mapping[str, Decision]
) -> ProblemRecord:
    ids = {item.made: item.content_id for item in items_of(record)} if rejections or edits else {}
    withdrawn = {made: rejections[name] for made, name in ids.items() if name in rejections}
    edited = {made: edits[name].new_item for made, name in ids.items() if name in edits}
    return record.model_copy(update={"withdrawn": withdrawn, "edited": edited})


def items_of(record: ProblemRecord) -> Iterator[BankItem]:
    """The problem itself, its variants and its conversions, as reviewers edited them."""
    originals = {ORIGINAL: whole_item(record)} if record.latex.strip() else {}
    alternates = tuple(alternate.solution for alternate in record.alternates)
    for made, latex in (*originals.items(), *record.variants.items(), *record.conversions.items()):
        edited = record.edited.get(made)
        more = {"alternates": alternates} if made == ORIGINAL else {}
        more |= {"unedited": latex} if edited is not None else {}
        yield _item(record, made, edited or latex).model_copy(update=more)


def with_pictures(space: Workspace, bank: ProblemBank) -> BankExport:
    """The accepted part of a bank with the pictures of its figures, which are drawn where there is a TeX engine."""
    figures = draw_figures(space, (drawing(one, item) for one in bank.accepted for item in items_of(one)))
    return export_of(bank).model_copy(update={"figures": figures})


def drawing(record: ProblemRecord, item: BankItem) -> Drawing:
    """An item of a problem with what its figures need to compile."""
    libraries = record.tikz.libraries if record.tikz is not None else ()
    return Drawing(item.latex, record.problem.preamble, libraries)


def without_pictures(export: BankExport) -> list[str]:
    """One line that names the items whose figures are not drawn; empty if there are none."""
    lacking = undrawn({item.id: item.latex for item in export.items}, export.figures)
    return [NOT_DRAWN.format(", ".join(lacking))] if lacking else []


def export_of(bank: ProblemBank) -> BankExport:
    """The accepted part of a bank, with everything that its items need to compile."""
    accepted = bank.accepted
    items = tuple(
        item for record in accepted for item in items_of(record) if item.made not in record.withdrawn
    )
    libraries = [one for record in accepted if record.tikz is not None for one in record.tikz.libraries]
    preambles = dict.fromkeys(one.problem.preamble for one in accepted if one.problem.preamble.strip())
    texts = [text for item in items for text in (item.latex, *item.alternates)]
    return BankExport(
        name=bank.name,
        title=bank.title,
        items=items,
        preambles=tuple(preambles),
        libraries=tuple(dict.fromkeys((*USUAL_LIBRARIES, *libraries))),
        packages=packages_of("\n".join((*preambles, *texts)), libraries),
        signs=sign_declarations(),
    )


def not_usable(bank: ProblemBank) -> dict[str, str]:
    """Why accepted problems cannot be used, by id: their LaTeX does not compile, or the TeX project leaves it out."""
    outside = set(left_out(export_of(bank)))
    found: dict[str, str] = {}
    for record in bank.accepted:
        if record.compiled is not None and record.compiled.outcome is CompileOutcome.FAILED:
            found[record.id] = "does not compile"
        elif record.id in outside:
            found[record.id] = "is left out of the TeX project"
    return found


def told_bank(bank: ProblemBank) -> str:
    """How many problems of the bank are accepted and can be used, in words."""
    bad = not_usable(bank)
    line = f"{len(bank.accepted) - len(bad)} of {len(bank.problems)} problems accepted"
    why = ", ".join(f"{name} {reason}" for name, reason in bad.items())
    return f"{line} ({len(bad)} not counted: {why})" if bad else line


def export_files(export: BankExport) -> dict[str, bytes]:
    """The files of every export format."""
    return {
        path: data
        for exporter in PROBLEM_EXPORTERS
        for path, data in exported(exporter.export(export), export.figures).items()
    }


def bank_files(bank: ProblemBank) -> dict[str, bytes]:
    """bank.json (all problems of the set) and results.jsonl (the pipeline results of the accepted problems)."""
    timeless = tuple(_timeless(problem) for problem in bank.problems)
    bank = bank.model_copy(update={"problems": timeless})
    results = [found for one in bank.accepted if (found := pipeline_result(one)) is not None]
    lines = "".join(f"{result.model_dump_json()}\n" for result in results)
    return dict(zip(FILES, (f"{bank.model_dump_json(indent=1)}\n".encode(), lines.encode()), strict=True))


def publish_problem_bank(space: Workspace, plan: SetPlan, run_id: str) -> PublishedBank:
    """Write the bank's files and all its exports. Changed files of the bank are also kept in the history of the run."""
    bank = open_bank(space, plan)
    former = space.store.find_or_set_aside(ProblemBank.file_key(plan.name, FILES[0]), ProblemBank)
    profile, seed = plan.given
    if former is not None and not plan.replace and bank.problems == former.problems:
        profile, seed = former.profile, former.seed
    bank = bank.model_copy(update={"profile": profile, "seed": seed})
    export = with_pictures(space, bank)
    files = bank_files(bank) | {f"{EXPORTS}/{path}": data for path, data in export_files(export).items()}
    changed: list[str] = []
    for path, data in files.items():
        if space.store.write_if_changed(ProblemBank.file_key(plan.name, path), data):
            changed.append(path)
            if path in FILES:
                space.store.write_bytes(ProblemBank.history_key(plan.name, run_id, path), data)
    paths = tuple(space.store.path(ProblemBank.file_key(plan.name, path)) for path in files)
    return PublishedBank(bank, export, paths, tuple(changed), plan.missing)


def broken_items(bank: ProblemBank) -> dict[str, str]:
    """Check the items of the bank again. Returns the faults of the items that break a property, by the id of the item."""
    found: dict[str, str] = {}
    for record in bank.accepted:
        whole = whole_item(record)
        for item in items_of(record):
            breaches = item_breaches(whole, item)
            if breaches:
                found[item.id] = "; ".join(str(breach) for breach in breaches)
        for number, other in enumerate(record.alternates, 1):
            lost = code_checks.alternate_breaches(whole, other)
            if lost:
                found[f"{record.id}--alternate-{number}"] = "; ".join(map(str, lost))
    return found


def item_breaches(whole: str, item: BankItem) -> tuple[Breach, ...]:
    """The properties that an item breaks; `whole` is the problem that it was made of."""
    kind = item.made.rstrip("0123456789").rstrip("-")
    if item.made == ORIGINAL:
        return code_checks.scan_breaches(item.latex, None, strict=False)
    if kind in {one.value for one in Format}:
        return code_checks.conversion_breaches(whole, Format(kind), item.latex)
    if kind == VariantKind.MULTI.value:
        return code_checks.scan_breaches(item.latex, None, strict=False)
    return code_checks.variant_breaches(VariantKind(kind), whole, item.latex)


def _timeless(record: ProblemRecord) -> ProblemRecord:
    """The record without times and costs, so that the same results give the same file."""
    tasks = tuple(task.model_copy(update={"at": "", "calls": ()}) for task in record.tasks)
    return record.model_copy(update={"tasks": tasks, "timestamp": ""})


def _item(record: ProblemRecord, made: str, latex: str) -> BankItem:
    return BankItem(
        id=record.id if made == ORIGINAL else f"{record.id}--{made}",
        problem=record.id,
        made=made,
        latex=latex,
        statement=question_of(latex),
        options=options_of(latex),
        solution=solution_of(latex),
        answer=stated_answer(latex),
        solved=next((task.solved for task in reversed(record.tasks) if _solves(task, made)), NOT_SOLVED),
        source_path=record.problem.source_path,
        classification=record.classification,
        ideas=record.ideas,
    )


def _solves(done: TaskResult, made: str) -> bool:
    """Whether the task says what a solver reached for an item; an original with a figure is solved after it is drawn."""
    original = made == ORIGINAL and done.task.stage in (Stage.SCAN, Stage.DIAGRAM)
    return (original or done.task.made == made) and done.solved != NOT_SOLVED


def _combined(space: Workspace, plan: SetPlan, problem_set: ProblemSet) -> tuple[list[Problem], list[str]]:
    """The combined problems of a set, as `combined` gives them. Raises ConfigError for a part that the set does not have."""
    config = problem_set.config
    known = {problem.id for problem in plan.problems}
    wanted = {one for group in config.combine for one in group}
    if wanted - known:
        unknown, there = ", ".join(sorted(wanted - known)), ", ".join(sorted(known))
        raise ConfigError(
            f"combine names {unknown}; there are: {there}", file=problem_set.folder / CONFIG_NAME
        )
    records = {one: gather_record(space, plan, plan.problem(one)) for one in sorted(wanted)}
    return combined(config.combine, config.target_style, records)
