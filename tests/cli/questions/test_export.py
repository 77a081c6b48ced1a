from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Command
from tests.support import waterworks

KEY = "water/facts/textual"


def test_published_sets_are_exported_and_a_stale_one_does_not_stop_the_others(
    qagen: Command, tmp_path: Path
) -> None:
    project = qagen.project
    for corpus in ("rail", "water"):
        project.corpus(corpus, waterworks.corpus(2), {"ridge.txt": waterworks.notes("ridge")})
    output = tmp_path / "out"
    early = qagen("export", "--output", str(output))
    assert (early.code, early.errors) == (
        1, ["qagen: error: no matching set is published: `qagen run` makes it"],
    )  # fmt: skip
    assert qagen("run", "--json").code == 0
    before = project.stored()
    told = qagen("export", "--corpus", "water", "--output", str(output), "--json")
    assert (told.code, told.err, project.stored()) == (0, "", before)
    rows = {one["format"]: one for one in told.value["exports"]}
    assert len(rows) == 12
    ids = [one["id"] for one in project.published(KEY)["questions"]]
    assert {one["questions"] + len(one["left_out"]) for one in rows.values()} == {len(ids)}
    files = [Path(path) for one in rows.values() for path in one["files"]]
    assert sorted(files) == sorted(path for path in output.rglob("*") if path.is_file())
    samples = (output / KEY / "inspect" / "samples.jsonl").read_text().splitlines()
    assert [json.loads(line)["id"] for line in samples] == ids
    (project.assets / "documents" / "rail" / "ridge.txt" / "text.txt").write_text("Another text.")
    shown = qagen("export", "--format", "csv", "--format", "squad", "--output", str(tmp_path / "two"))
    assert (shown.code, len(shown.errors)) == (1, 1)
    assert "rail/facts/textual is not exported: the evidence of q-" in shown.err
    assert [line.split(":")[0] for line in shown.out.splitlines()] == ["squad", "csv"]
    assert {path.name for path in (tmp_path / "two" / KEY).iterdir()} == {"csv", "squad"}


def test_wrong_names_are_one_line(qagen: Command, tmp_path: Path) -> None:
    qagen.project.corpus("water", waterworks.corpus(2), {"ridge.txt": waterworks.notes("ridge")})
    (tmp_path / "file").write_text("")
    for words, named in (
        (("--format", "raga", "--output", "out"), "raga"),
        (("--corpus", "wine", "--output", "out"), "wine"),
        (("--output", str(tmp_path / "file" / "out")), "file"),
        ((), "--output"),
    ):
        ended = qagen("export", *words)
        assert (ended.code, len(ended.errors)) == (2, 1), words
        assert named in ended.err
