from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.configuration.exams import Library, read_schemas
from qagen_dagster.errors import ConfigError

WHOLE = """\
# For people

## Not a schema? It is a header all the same
text

## M1.   Hidden / Scaling
### Core thinking move
See the ratio,
and only the ratio.

### Contexts:
- solids
  and figures
- curves
### WRONG PATHS
1. linear
2. inverse
* as the part
### Notes
A line.
Another.
```
## M9. In a fence
```
"""


def read(tmp_path: Path, text: str) -> Library:
    path = tmp_path / "schemas.md"
    path.write_text(text, encoding="utf-8")
    return read_schemas(path)


def test_a_block_is_read_as_it_stands(tmp_path: Path) -> None:
    found = read(tmp_path, WHOLE)
    assert list(found.schemas) == ["M1"]
    schema = found.schemas["M1"]
    assert (schema.title, schema.line) == ("Hidden / Scaling", 6)
    assert schema.core_move == "See the ratio, and only the ratio."
    assert schema.contexts == ("solids and figures", "curves")
    assert schema.wrong_paths == ("linear", "inverse", "as the part")
    assert schema.notes[:2] == ("A line.", "Another.")
    assert schema.text == WHOLE[WHOLE.index("## M1") :].strip()
    (fault,) = found.faults
    assert fault.line == 3


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        (
            "### Contexts:",
            "### Context",
            11,
            "'### Context' is not a part of a schema (parts: Core thinking",
        ),
        ("### Notes", "### Contexts", 19, "'### Contexts' is given twice"),
        ("### WRONG PATHS", "### Notes", 19, "is given twice"),
        ("### Core thinking move\n", "", 7, "there is text before the first '###' part"),
        ("2. inverse\n", "", 6, "has 2 wrong paths, but needs at least 3"),
        ("See the ratio,\nand only the ratio.\n", "", 6, "'### Core thinking move' is missing or empty"),
        ("## M1. ", "## M1 ", 6, "is not a schema header"),
        ("## M1. ", "## 1M. ", 6, "is not a schema header"),
        ("## M1. ", "## ../M1. ", 6, "is not a schema header"),
    ],
)
def test_a_broken_block_is_one_fault_with_its_line(
    tmp_path: Path, old: str, new: str, line: int, said: str
) -> None:
    text = f"{WHOLE.replace(old, new)}\n## P1. Whole\n{WHOLE.partition('Scaling')[2]}"
    found = read(tmp_path, text)
    assert "P1" in found.schemas
    broken = [fault for fault in found.faults if fault.line not in (3, 26)]
    assert found.schemas.keys() == {"P1"}
    assert [fault.line for fault in broken if said in fault.message] == [line]


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "schemas.md"
    path.write_bytes(b"## M1. \xff\n")
    with pytest.raises(ConfigError, match="is not UTF-8 text"):
        read_schemas(path)
    path.write_bytes(b"#" * 1_000_001)
    with pytest.raises(ConfigError, match="is larger than 1 MB"):
        read_schemas(path)


LINES = ["## M1. A", "## M2. B", "## x", "### Contexts", "### Notes", "### Core thinking move"]
LINES += ["### Wrong paths", "- a", "b", "", "```"]


@given(st.lists(st.sampled_from(LINES), max_size=30))
def test_every_block_is_a_schema_or_a_fault(lines: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = read(Path(folder), "\n".join(lines))
    starts, fenced = 0, False
    for line in lines:
        starts += line.startswith("## ") and not fenced
        fenced ^= line == "```"
    assert len(found.schemas) + len(found.faults) == starts
