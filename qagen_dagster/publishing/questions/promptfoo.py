"""Test cases of promptfoo: name the file under `tests` of a configuration in the same folder."""

from __future__ import annotations

import re
from typing import Any

import yaml

from qagen_dagster.publishing.questions.exported_set import ExportedRow, ExportedSet

_TEMPLATE = re.compile(r"\{[{%#]|#\}")


def export(exported: ExportedSet) -> dict[str, bytes]:
    """The variables `question`, `context` and, with pictures, `image`, `image_2`, ...; a model compares the answers."""
    cases = [_case(row) for row in exported.rows]
    text: str = yaml.dump(cases, Dumper=_Quoted, allow_unicode=True, sort_keys=False, width=float("inf"))
    return {"tests.yaml": text.encode(), **exported.pictures()}


class _Quoted(yaml.SafeDumper):
    """Puts all strings into double quotes, because readers disagree about plain ones such as 1e3."""


def _quoted(dumper: Any, text: str) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"')


_Quoted.add_representer(str, _quoted)


def _case(row: ExportedRow) -> dict[str, Any]:
    names = ("image", *(f"image_{number}" for number in range(2, len(row.pictures) + 1)))
    pictures = {name: f"file://{one.path}" for name, one in zip(names, row.pictures, strict=False)}
    return {
        "description": row.question.id,
        "vars": {
            "question": _literal(row.question.question),
            "context": _literal("\n\n".join(row.contexts)),
            **pictures,
        },
        "assert": [{"type": "factuality", "value": _literal(row.question.answer)}],
        "metadata": {name: value for name, value in row.details.items() if name != "evidence"},
    }


def _literal(text: str) -> str:
    """A template that gives `text`. promptfoo fills in templates, and reads the file that a text such as `file://name` names."""
    shown = _TEMPLATE.sub(lambda found: f'{{{{ "{found[0]}" }}}}', text)
    return f'{{{{ "" }}}}{shown}' if text.startswith(("file:", "package:")) else shown
