"""What the documents say is what the code does: commands, options, variables, names, fields, paths, links."""

from __future__ import annotations

import ast
import contextlib
import inspect
import os
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from pydantic import BaseModel

from qagen_dagster.catalog.database import TABLES
from qagen_dagster.configuration.profiles import QUESTION_ROLES, SHIPPED, Profile, Role
from qagen_dagster.formats.registry import FORMATS
from qagen_dagster.models.budget import Budget
from qagen_dagster.models.embedders import EmbedderSpec
from qagen_dagster.models.providers import PROVIDERS
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.records.corpus_options import (
    AnsweringOptions,
    BatchOptions,
    CorpusConfig,
    DocumentOptions,
    EvaluationOptions,
    FulltextOptions,
    GradingOptions,
    ScenarioConfig,
)
from qagen_dagster.records.document import Outcome
from qagen_dagster.records.index_options import IndexOptions
from qagen_dagster.records.questions.published import CorpusGenerationResult, PublishedQuestion
from qagen_dagster.records.questions.results import DocumentEnd, Evidence, GenerationMetadata, RejectionReason
from qagen_dagster.settings import PROJECT_ROOT, Settings, load_settings
from tests.support import markdown
from tests.support.command_tree import whole_command
from tests.support.graph import DAGSTER_WARNINGS
from tests.support.stored_keys import stored_keys

HELP = ["-h", "--help"]  # as in the command: click keeps the first help option it makes
SHORTHANDS = {  # of the table of commands, as the paragraph above it explains
    "COMBINATIONS": "[--corpus C] [--scenario S] [--mode M]",
    "BUDGET": "[--max-usd X] [--max-tokens N] [--max-calls N]",
}
DOCS = [
    PROJECT_ROOT / "README.md",
    PROJECT_ROOT / "AGENTS.md",
    *sorted((PROJECT_ROOT / "docs").rglob("*.md")),
]
MEASURED = sorted((PROJECT_ROOT / "benchmarks").rglob("*.md"))
MODULES = [
    path.relative_to(PROJECT_ROOT).as_posix()
    for folder in ("qagen_dagster", "benchmarks", "tests")
    for path in (PROJECT_ROOT / folder).rglob("*.py")
]
README, AGENTS, CONTRACTS, CORPORA, PROFILES, OPERATIONS, HOW_IT_WORKS = (
    (PROJECT_ROOT / name).read_text(encoding="utf-8")
    for name in (
        "README.md",
        "AGENTS.md",
        "docs/contracts.md",
        "docs/corpora.md",
        "docs/profiles.md",
        "docs/operations.md",
        "docs/how-it-works.md",
    )
)
MAKEFILE = (PROJECT_ROOT / "Makefile").read_text(encoding="utf-8")


def test_the_first_commands_are_targets_and_so_is_every_other() -> None:
    targets = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
    first = README.split("```")[1].split("\n")
    assert [line for line in first if line] == ["make demo", "make test"]
    named = {name for path in DOCS for name in re.findall(r"`make ([a-z-]+)", path.read_text())}
    assert named <= targets
    phony = re.findall(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)[0].split()
    assert set(phony) == targets


@pytest.mark.parametrize("path", DOCS, ids=lambda path: path.name)
def test_commands_in_documents_parse(path: Path) -> None:
    for line in markdown.commands(path.read_text(encoding="utf-8")):
        words = shlex.split(re.sub(r"<[^>]*>", "name", line))[1:]
        _parse(whole_command(), words, line)


def test_every_command_and_option_is_in_its_table() -> None:
    usage = re.findall(r"^`qagen (.*) COMMAND`$", CONTRACTS, re.MULTILINE)[0]
    assert _named_options(usage) == _options(whole_command()) - {"--version"}
    rows = {row[0].strip("`") for row in markdown.table(CONTRACTS, "## The command")}
    for short, options in SHORTHANDS.items():
        rows = {row.replace(f"[{short}]", options) for row in rows}
    documented = {re.split(r" (?=\[|[A-Z]|--)", row)[0]: row for row in rows}
    commands = dict(_leaves(whole_command()))
    assert set(documented) == set(commands)
    for name, command in commands.items():
        assert _named_options(documented[name]) == _options(command), name
        arguments = {
            p.name.upper().rstrip("S") for p in command.params if isinstance(p, click.Argument) and p.name
        }
        assert {word for word in arguments if word in documented[name]} == arguments


def test_every_variable_is_in_its_table_with_its_default() -> None:
    table = {
        name: row
        for row in markdown.table(CONTRACTS, "| variable ")
        for name in re.findall(r"`([A-Z_]+)`", row[0])
    }
    source = inspect.getsource(inspect.getmodule(load_settings) or load_settings)
    assert set(table) == set(re.findall(r'"(QAGEN_[A-Z_]+|DAGSTER_HOME)"', source))
    usual = load_settings({})
    assert table["QAGEN_CORPORA"][2] == f"`{usual.corpora.relative_to(PROJECT_ROOT)}/`"
    assert table["QAGEN_ASSETS"][2] == f"`{Path(usual.assets).relative_to(PROJECT_ROOT)}/`"
    assert table["QAGEN_PROFILE"][2] == f"`{usual.profile}`"
    assert table["QAGEN_DOCUMENT_WORKERS"][2] == str(usual.document_workers)
    assert table["QAGEN_PARSER_SECONDS"][2] == f"{usual.parser_seconds:g}, {usual.parser_memory_mb}"
    assert usual.state.name == f"qagen-{os.getuid()}"
    assert usual.profiles is usual.shard_size is None
    bare = Settings(corpora=usual.corpora, assets=usual.assets, parser_workers=usual.parser_workers)
    assert usual == bare


@pytest.mark.parametrize(
    ("opening", "names"),
    [
        ("Of a document:", list(Outcome)),
        ("Of a document in a combination:", list(DocumentEnd)),
        ("Of a rejected candidate:", list(RejectionReason)),
    ],
)
def test_outcomes_are_those_of_the_code(opening: str, names: list[str]) -> None:
    paragraph = next(part for part in CONTRACTS.split("\n\n") if part.startswith(opening))
    assert re.findall(r"`(\w+)`", paragraph) == [str(name) for name in names]


def test_every_stored_path_is_documented() -> None:
    patterns = [
        _pattern(path)
        for row in markdown.table(CONTRACTS, "## The store")
        for path in _spelled_out(re.findall(r"`([^`]+)`", row[0]))
    ]
    made = [
        *stored_keys(),
        "ledger/aa/aabbcc",
        "batches/aa/aabbcc",
        "batches/jo/job-0123",
        "figures/aa/aabbcc",
    ]
    made += ["locks/catalog", "outputs/run/op/result.json", "doctor/probe"]
    assert [key for key in made if not any(pattern.fullmatch(key) for pattern in patterns)] == []
    assert [pattern.pattern for pattern in patterns if not any(map(pattern.fullmatch, made))] == []


def test_fields_of_the_published_set_are_documented() -> None:
    of_set = re.findall(r"`(\w+)", " ".join(row[0] for row in markdown.table(CONTRACTS, "## corpus.json")))
    assert sorted(of_set) == sorted(CorpusGenerationResult.model_fields)
    rows = markdown.table(CONTRACTS, "| field of a question ")
    named = re.findall(r"`(\w+)", " ".join(row[0] for row in rows))
    assert sorted(named) == sorted(PublishedQuestion.model_fields)
    meanings = {row[0]: row[1] for row in rows}
    assert re.findall(r"`(\w+)`", meanings["`generation_metadata`"]) == list(GenerationMetadata.model_fields)
    assert re.findall(r"`(\w+)`", meanings["`evidence[]`"]) == list(Evidence.model_fields)


def test_tables_of_the_catalog_are_documented() -> None:
    paragraph = CONTRACTS.split("## The catalog")[1].split("##")[0]
    tables, view = paragraph.split("; view", 1)
    assert set(re.findall(r"`(\w+)`", tables)) == set(TABLES)
    sql = PROJECT_ROOT / "qagen_dagster/catalog/sql"
    assert f"CREATE VIEW {re.findall(r'`([a-z_]+)`', view)[0]} " in (sql / "views.sql").read_text()


def test_keys_of_corpus_yaml_are_documented_with_need_and_default() -> None:
    kinds: list[tuple[str, type[BaseModel]]] = [
        ("", CorpusConfig),
        ("scenarios.<key>.", ScenarioConfig),
        ("scenarios.<key>.batch.", BatchOptions),
        ("scenarios.<key>.grading.", GradingOptions),
        ("scenarios.<key>.evaluation.", EvaluationOptions),
        ("documents.", DocumentOptions),
        ("index.", IndexOptions),
        ("answering.", AnsweringOptions),
        ("answering.fulltext.", FulltextOptions),
    ]
    fields = {
        f"{prefix}{name}": field
        for prefix, kind in kinds
        for name, field in kind.model_fields.items()
        if f"{prefix}{name}" not in ("scenarios", "documents", "index", "answering", "answering.fulltext")
    }
    rows = markdown.table(CORPORA, "## corpus.yaml")
    assert [key for row in rows for key in re.findall(r"`([^`]+)`", row[0])] == list(fields)
    for row in rows:
        keys = re.findall(r"`([^`]+)`", row[0])
        defaults = re.split(r", (?=\d)", row[3]) if len(keys) > 1 else [row[3]]
        for key, default in zip(keys, defaults, strict=True):
            assert (row[1] == "yes") == fields[key].is_required(), key
            assert _fits(default, fields[key].default), key


def test_formats_are_documented() -> None:
    rows = markdown.table(CORPORA, "## Formats")
    assert {suffix for row in rows for suffix in re.findall(r"`(\.\w+)`", row[0])} == {
        one for format in FORMATS for one in format.suffixes
    }


def test_the_example_corpus_of_the_readme_is_one() -> None:
    (example,) = markdown.fenced(README, "yaml")
    assert CorpusConfig.model_validate(yaml.safe_load(example)).scenarios["rag_eval"].target_count == 5


def test_profiles_are_documented() -> None:
    example, _, budget = markdown.fenced(PROFILES, "yaml")
    profile = Profile.model_validate(yaml.safe_load(example))
    assert not Budget.model_validate(yaml.safe_load(budget)["budget"]).unlimited
    assert set(profile.roles) >= set(QUESTION_ROLES)
    assert [row[0].strip("`") for row in markdown.table(PROFILES, "| role ")] == [role.value for role in Role]
    named = set(re.findall(r"`(\w+)`", PROFILES.split("```yaml")[0])) & {
        path.stem for path in SHIPPED.iterdir()
    }
    assert named == {path.stem for path in SHIPPED.glob("*.yaml")}


def test_keys_of_a_role_are_documented_with_their_defaults() -> None:
    rows = markdown.table(PROFILES, "| key of a role ")
    keys = [key for row in rows for key in _prefixed(re.findall(r"`(\w+)`", row[0]))]
    assert sorted(keys) == sorted(ModelSpec.model_fields)
    cells = {row[0]: row for row in rows}
    assert re.findall(r"`(\w+)`", cells["`provider`"][1]) == list(PROVIDERS)
    env = [entry.key_env for entry in PROVIDERS.values() if entry.key_env]
    assert [name for name in env if name not in cells["`api_key_env`"][2]] == []
    for row in rows:
        names = _prefixed(re.findall(r"`(\w+)`", row[0]))
        several = len(names) > 1 and ";" in row[2]
        defaults = row[2].split(";") if several else [row[2]] * len(names)
        for name, default in zip(names, defaults, strict=True):
            assert not default or _fits(default, ModelSpec.model_fields[name].default), name


def test_keys_of_the_embedder_are_documented_with_their_defaults() -> None:
    rows = markdown.table(PROFILES, "| key of `embedder` ")
    assert sorted(key for row in rows for key in re.findall(r"`(\w+)`", row[0])) == sorted(
        EmbedderSpec.model_fields
    )
    for row in rows:
        names = re.findall(r"`(\w+)`", row[0])
        defaults = row[2].split(";") if ";" in row[2] else [row[2]] * len(names)
        for name, default in zip(names, defaults, strict=True):
            assert not default or _fits(default.strip("`"), EmbedderSpec.model_fields[name].default), name
    example = next(text for text in markdown.fenced(PROFILES, "yaml") if text.startswith("embedder:"))
    assert not EmbedderSpec.model_validate(yaml.safe_load(example)["embedder"]).local


def test_the_map_in_agents_md_is_the_package() -> None:
    assert len(AGENTS.splitlines()) <= 80
    tree = AGENTS.split("```")[1].strip().splitlines()
    assert tree[0] == "qagen_dagster/"
    named = {line.split()[0] for line in tree[1:]}
    package = PROJECT_ROOT / "qagen_dagster"
    inside = [path for path in package.iterdir() if path.is_dir() and not path.is_symlink()]
    folders = {f"{path.name}/" for path in inside if path.name[0] not in "._"}
    modules = {path.name for path in package.glob("*.py") if path.name != "__init__.py"}
    assert named == folders | modules
    for inner in re.findall(r"((?:\w+/)+\w+\.py)", AGENTS):
        assert (package / inner).is_file(), inner


def test_the_layers_in_agents_md_are_those_that_are_enforced() -> None:
    config = tomllib.loads((PROJECT_ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts: list[dict[str, Any]] = config["tool"]["importlinter"]["contracts"]
    layers = next(one["layers"] for one in contracts if one["name"] == "layers")
    told = re.findall(r"Imports go down only: `([^`]+)`", AGENTS)[0]
    assert [" ".join(layer.split()) for layer in told.split("→")] == [
        layer.replace("qagen_dagster.", "") for layer in layers
    ]


@DAGSTER_WARNINGS[0]
@DAGSTER_WARNINGS[1]
@DAGSTER_WARNINGS[2]
def test_operations_names_what_the_graph_has() -> None:
    from qagen_dagster.definitions import defs

    definitions = defs()
    graph, repository = definitions.resolve_asset_graph(), definitions.get_repository_def()
    real = {
        *(key.to_user_string() for key in graph.get_all_asset_keys()),
        *(check.name for check in graph.asset_check_keys),
        *(one.name for one in (*repository.sensor_defs, *repository.schedule_defs)),
        *repository.job_names,
    }
    snake = set(re.findall(r"`([a-z]+_[a-z_]+)`", OPERATIONS))
    metadata = {"rejected_questions", "why_rejected", "rejected_lines", "removed_questions"}
    fields = {"target_count", "shard_size", "plan_shards", "num_documents", "qagen_store", *metadata}
    assert snake - fields <= real
    assert {one.name for one in (*repository.sensor_defs, *repository.schedule_defs)} <= snake
    assert {check.name for check in graph.asset_check_keys} <= set(re.findall(r"`([a-z_]+)`", OPERATIONS))


@pytest.mark.parametrize("path", DOCS, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", path.read_text(encoding="utf-8")):
        if re.match(r"https?://", target):
            continue
        file, _, anchor = target.partition("#")
        place = (path.parent / file).resolve() if file else path
        assert place.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.+)$", place.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in {re.sub(r"[^\w -]", "", one).lower().replace(" ", "-") for one in headings}, (
                target
            )


@pytest.mark.parametrize("path", [*DOCS, *MEASURED], ids=lambda path: str(path.relative_to(PROJECT_ROOT)))
def test_modules_named_in_documents_exist(path: Path) -> None:
    named = set(re.findall(r"`((?:\w+/)*\w+\.py)`", path.read_text(encoding="utf-8")))
    assert {name for name in named if not any(f"/{one}".endswith(f"/{name}") for one in MODULES)} == set()


def test_the_path_of_a_question_names_functions_that_its_files_define() -> None:
    rows = markdown.table(HOW_IT_WORKS, "| step | function")
    assert len(rows) >= 10
    everywhere: set[str] = set()
    for _, functions, files in rows:
        paths = [PROJECT_ROOT / "qagen_dagster" / file for file in re.findall(r"`([\w/]+\.py)`", files)]
        defined = {name for path in paths for name in _definitions(ast.parse(path.read_text("utf-8")))}
        assert [name for name in re.findall(r"`([\w.]+)`", functions) if name not in defined] == []
        everywhere |= defined
    for step, _, _ in rows:
        named = re.findall(r"`([A-Z]\w+(?:\.\w+)?)`", step)
        assert [name for name in named if name not in everywhere] == []


def test_there_is_a_changelog() -> None:
    assert re.search(r"^## ", (PROJECT_ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)


def _fits(told: str, value: object) -> bool:
    """Whether a table's cell says the default; what is no plain value is told in words."""
    if isinstance(value, bool):
        return told == str(value).lower()
    if isinstance(value, (int, float)):
        return told.strip().replace(",", "") == f"{value:.12g}"
    return told.strip("` ") == value if isinstance(value, str) else True


def _parse(command: click.Command, words: list[str], line: str) -> None:
    """Parse without running; an argument that is only missing is no fault of the document."""
    if isinstance(command, click.Group):
        inner = next((number for number, word in enumerate(words) if word in command.commands), None)
        assert inner is not None or command.invoke_without_command, line
        command.make_parser(click.Context(command, help_option_names=HELP)).parse_args(words[:inner])
        if inner is not None:
            size = 2 if " ".join(words[inner : inner + 2]) in command.commands else 1
            _parse(command.commands[" ".join(words[inner : inner + size])], words[inner + size :], line)
        return
    with contextlib.suppress(click.MissingParameter):
        command.make_context(line, words, help_option_names=HELP)


def _definitions(tree: ast.AST, owner: str = "") -> Iterator[str]:
    """The names of all functions and classes, methods as `Class.method`, and those inside functions without a prefix."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            yield f"{owner}{node.name}"
            yield from _definitions(node, f"{node.name}." if isinstance(node, ast.ClassDef) else "")


def _leaves(group: click.Group, prefix: str = "") -> Iterator[tuple[str, click.Command]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from _leaves(command, f"{prefix}{name} ")
        if not isinstance(command, click.Group) or command.invoke_without_command:
            yield f"{prefix}{name}", command


def _options(command: click.Command) -> set[str]:
    return {
        name
        for one in command.params
        if isinstance(one, click.Option)
        for name in one.opts
        if name.startswith("--")
    }


def _named_options(text: str) -> set[str]:
    return set(re.findall(r"--[a-z-]+", text))


def _spelled_out(paths: list[str]) -> list[str]:
    """`a/b/x`, `y` in one cell means a/b/x and a/b/y."""
    folder = paths[0].rpartition("/")[0]
    return [paths[0], *(path if "/" in path else f"{folder}/{path}" for path in paths[1:])]


def _pattern(path: str) -> re.Pattern[str]:
    text = re.escape(path).replace("…", ".+")
    text = text.replace(re.escape("<combination>"), "[^/]+/[^/]+/[^/]+")
    return re.compile(re.sub(r"<[^>]*>", "[^/]+", text.replace("\\ ", " ")))


def _prefixed(names: list[str]) -> list[str]:
    """`usd_per_million_input`, `_output` means usd_per_million_output, too."""
    stem = names[0].rpartition("_")[0]
    return [f"{stem}{name}" if name.startswith("_") else name for name in names]
