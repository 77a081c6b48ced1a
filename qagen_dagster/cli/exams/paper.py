"""`qagen exam paper` draws papers from a bank. `qagen exam responses` shows what the answers of candidates say about the items."""

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from qagen_dagster.cli.echo import echo
from qagen_dagster.cli.options import Command, folder_option, json_option, with_options
from qagen_dagster.cli.output import Terminal, fail, print_json, warn, write_output
from qagen_dagster.configuration.exams import FOLDER, Exam, find_exam, load_exams
from qagen_dagster.configuration.yaml_files import read_yaml
from qagen_dagster.errors import ConfigError, StoreError
from qagen_dagster.latex.engine import MISSING, Engine, compile_document, find_engine
from qagen_dagster.loop.catalog import rebuild_catalog
from qagen_dagster.loop.exams.bank import gather
from qagen_dagster.loop.exams.paper import Drawn, draw_paper
from qagen_dagster.loop.exams.responses import read_responses
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.publishing.exams.pages import PaperHead, paper_files
from qagen_dagster.publishing.markup import Figures
from qagen_dagster.records.base import Difficulty
from qagen_dagster.records.exams.bank import ItemBank
from qagen_dagster.records.exams.config import MOST_SEED
from qagen_dagster.records.exams.paper import MOST_DRAWN, MOST_FORMS, Blueprint, Sitting
from qagen_dagster.settings import Settings

one_exam_option = click.option("--exam", "exam_key", help="The exam. Required if there are several exams.")


def chosen_exams(settings: Settings, key: str | None) -> list[Exam]:
    """The exam `key`, or all valid exams without a key. Raises ConfigError for an unusable key, and when there is no valid exam."""
    if key is not None:
        return [find_exam(settings.corpora, key)]
    exams, faults = load_exams(settings.corpora)
    if not exams:
        raise faults[0] if faults else ConfigError(f"there is no exam in {settings.corpora / FOLDER}")
    return list(exams.values())


def one_exam(settings: Settings, key: str | None) -> Exam:
    """The exam `key`, or the only exam. Raises ConfigError as `chosen_exams` does, and if there are several exams but no key."""
    exam, *others = chosen_exams(settings, key)
    if others:
        raise ConfigError(f"name one exam with --exam ({', '.join(one.key for one in (exam, *others))})")
    return exam


def bank_of(space: Workspace, exam: Exam) -> ItemBank:
    """The bank of an exam. Raises StoreError if it is empty."""
    bank = gather(space, exam.key, draw=True).bank
    if not bank.items:
        raise StoreError(
            f"exam {exam.key} has no items yet; make them with: qagen exam run --exam {exam.key}"
        )
    return bank


def weights_of(wished: dict[str, Any]) -> dict[Difficulty, float]:
    """The weights of difficulties in the options `wished`, from which they are removed."""
    found = {level: wished.pop(f"w_{level.value}") for level in Difficulty}
    return {level: weight for level, weight in found.items() if weight is not None}


def prefixes_of(values: Sequence[str]) -> tuple[str, ...]:
    """The prefixes of schema ids in the values of --schema. A value may have several, with commas between them."""
    return tuple(part.strip() for part in ",".join(values).split(",") if part.strip())


def weight_options(default: str) -> Callable[[Command], Command]:
    """Add --w-easy, --w-medium and --w-hard. The text `default` ends their help."""
    options = (
        click.option(
            f"--w-{level.value}",
            type=click.FloatRange(0),
            help=f"Relative weight of {level.value} items{default}.",
        )
        for level in Difficulty
    )
    return lambda command: with_options(command, *options)


@click.command()
@one_exam_option
@click.option(
    "--blueprint",
    type=click.Path(path_type=Path, dir_okay=False),
    help="YAML file with the blueprint of the paper. The options below replace its values.",
)
@click.option("--title", help="Title on the paper. Default: the name of the exam.")
@click.option(
    "--items",
    type=click.IntRange(1, MOST_DRAWN),
    help="Items of a form. Default: as many as fit into --minutes.",
)
@click.option("--minutes", type=click.FloatRange(0, 600, min_open=True), help="Time of the candidates.")
@click.option(
    "--schema",
    "schemas",
    multiple=True,
    help="Only schemas whose ids begin with these prefixes, in equal shares, such as M1,P2 or M,P. Can be repeated.",
)
@weight_options("")
@click.option(
    "--forms", type=click.IntRange(1, MOST_FORMS), help="Parallel forms without common items. Default: 1."
)
@click.option(
    "--shuffle",
    is_flag=True,
    default=None,
    help="Forms with the same items, and their options in other orders.",
)
@click.option(
    "--seed", type=click.IntRange(0, MOST_SEED), help="Another seed draws another paper. Default: 0."
)
@click.option(
    "--unused-since",
    type=click.DateTime(["%Y-%m-%d"]),
    help="Leave out the items of papers that were drawn on this day or later.",
)
@folder_option(required=True)
@json_option
@click.pass_obj
def paper(
    settings: Settings,
    exam_key: str | None,
    blueprint: Path | None,
    output: Path,
    as_json: bool,
    **wished: Any,
) -> int:
    """Draw an exam paper from the bank.

    Writes the paper for candidates, the answer sheet and the mark scheme of each form: in HTML, in LaTeX, and in PDF if this
    machine has a TeX engine. No two items of a form are of one family, and each letter is the key about equally often. The
    paper is recorded, so that --unused-since can leave out its items. The same bank, blueprint and seed give the same files.
    """
    space, exam = Workspace(settings), one_exam(settings, exam_key)
    bank = bank_of(space, exam)
    weights = {level: found.weight for level, found in exam.config.difficulties.items()}
    drawn = draw_paper(space, exam.key, bank.items, _blueprint(blueprint, wished), weights)
    engine = find_engine()
    files, failures = _files(drawn, drawn.paper.blueprint.title or bank.name, engine, bank.figures)
    output.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        write_output(output / name, data)
    if as_json:
        shown = drawn.paper.model_dump(mode="json")
        print_json({"ok": not failures, "paper": shown, "files": [str(output / name) for name in files]})
    else:
        _show(drawn, output, [*files])
    warn([*drawn.warnings, *([] if engine else [f"no PDF: {MISSING.partition(':')[0]}"])])
    return fail(failures)


@click.command()
@one_exam_option
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--paper", "paper_id", help="The paper that was set. Default: the only one, if the file has positions."
)
@json_option
@click.pass_obj
def responses(
    settings: Settings, exam_key: str | None, file: Path, paper_id: str | None, as_json: bool
) -> None:
    """Read the answers of candidates, and say what they tell about the items.

    FILE is CSV with the columns candidate, letter, and item or position; form is needed if the paper has several. Items of the
    paper without a line count as not answered. The statistics are kept: in the catalog, on the review page, and in the UI beside the bank.
    """
    space, exam = Workspace(settings), one_exam(settings, exam_key)
    sitting, warnings = read_responses(space, exam.key, bank_of(space, exam).items, file, paper_id)
    if as_json:
        print_json(sitting.model_dump(mode="json"))
    else:
        _show_sitting(sitting)
    rebuild_catalog(space.store)
    warn(warnings)


def _show_sitting(sitting: Sitting) -> None:
    table = Table(title=f"{sitting.candidates} candidates; values with 95 % intervals")
    for name in ("item", "key", "facility", "point-biserial", "upper third", "lower third", "found"):
        table.add_column(name, justify="left" if name in ("item", "found") else "right")
    for item in sitting.items:
        shares = (f"{item.upper:.2f}", f"{item.lower:.2f}")
        table.add_row(
            item.item,
            item.key,
            str(item.facility),
            str(item.discrimination or "-"),
            *shares,
            "; ".join(item.findings),
        )
    Terminal().print(table)
    for form in sitting.forms:
        name = f"form {' and '.join(form.forms)}: " if any(form.forms) else ""
        echo(
            f"{name}{form.candidates} candidates, {form.items} items, mean score {form.mean:.1f}, "
            f"standard deviation {form.deviation:.1f}, KR-20 {form.reliability or '-'}"
        )


def _blueprint(file: Path | None, wished: dict[str, Any]) -> Blueprint:
    """The blueprint of the file, or the default blueprint. Options that were given replace its values."""
    found = read_yaml(file, Blueprint) if file else Blueprint()
    levels, prefixes = weights_of(wished), prefixes_of(wished.pop("schemas"))
    since: datetime | None = wished.pop("unused_since")
    changes: dict[str, Any] = {name: value for name, value in wished.items() if value is not None}
    changes |= {"schemas": prefixes} if prefixes else {}
    changes |= {"unused_since": since.date()} if since else {}
    changes |= {"difficulties": levels} if levels else {}
    return Blueprint.model_validate({**dict(found), **changes})


def _files(
    drawn: Drawn, title: str, engine: Engine | None, figures: Figures
) -> tuple[dict[str, bytes], list[str]]:
    """The files of all forms by name, and a line for each document that the engine could not make into a PDF."""
    files: dict[str, bytes] = {}
    failures: list[str] = []
    forms = drawn.paper.forms
    for form in forms:
        head = PaperHead(title, form.number if len(forms) > 1 else 0, drawn.paper.blueprint.minutes)
        files |= paper_files(head, drawn.printed(form), form.number, figures)
    if engine is not None:
        for name in [name for name in files if name.endswith(".tex")]:
            made = compile_document(engine, files[name].decode())
            if made.pdf is None:
                failures.append(f"no PDF of {name}: {made.compiled.message}")
            else:
                files[name.replace(".tex", ".pdf")] = made.pdf
    return dict(sorted(files.items())), failures


def _show(drawn: Drawn, output: Path, names: list[str]) -> None:
    wanted = drawn.wanted
    for form in drawn.paper.forms:
        keys = "".join(item.key for item in form.items)
        echo(f"form {form.number}: {len(form.items)} items, about {wanted.minutes:g} minutes, keys {keys}")
    echo(f"paper: {drawn.paper.id}, drawn {drawn.paper.drawn}")
    echo(f"files: {output}: {', '.join(names)}")
