"""The comparison of two checkouts: what it masks, and that it finds everything else."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from benchmarks.equivalence.canonical import Masks, canonical
from benchmarks.equivalence.compare import compare

RUN = "0d0e1c2b-1111-4222-8333-0123456789ab"
BEGAN = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.fixture
def masks(tmp_path: Path) -> Masks:
    record = tmp_path / "assets/runs" / RUN / "run.json"
    record.parent.mkdir(parents=True)
    record.write_text(
        f'{{"run_id": "{RUN}", "partition": "a/b", "job": "j", "started": "{BEGAN.isoformat()}"}}'
    )
    return Masks.of({str(tmp_path): "<root>"}, tmp_path / "assets", BEGAN, BEGAN + timedelta(hours=1))


def test_only_what_a_recording_changes_is_masked(masks: Masks, tmp_path: Path) -> None:
    text = f'{{"run": "{RUN}", "at": "2026-03-01T12:30:00.5+00:00", "seconds": 1.5, "in": "{tmp_path}/x", "took": 1.5}}'
    kept = "The council met on 2023-05-16 at 2023-05-16T10:00:00Z for 1.5 hours. | 2 | 17 | 17.8 |"
    found = canonical({f"runs/{RUN}/a.json": text.encode(), "kept.txt": kept.encode()}, masks)
    assert found == {
        "runs/<run a~b 1>/a.json": (
            b'{"run": "<run a~b 1>", "at": "<time>", "seconds": <seconds>, "in": "<root>/x", "took": 1.5}'
        ),
        "kept.txt": kept.encode(),
    }


def test_the_hash_of_a_masked_file_is_masked_and_no_other(masks: Masks) -> None:

    timed, steady = b"made at 2026-03-01T12:30:00Z", b"always the same"
    hashes = [hashlib.sha256(content).hexdigest() for content in (timed, steady)]
    found = canonical({"timed": timed, "steady": steady, "hashes": " ".join(hashes).encode()}, masks)
    assert found["hashes"] == f"<hash of timed> {hashes[1]}".encode()


def test_a_changed_row_and_a_missing_file_are_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = _folder(tmp_path / "first", {"rows.jsonl": '{"a": 1}\n{"a": 2}\n', "same": "x", "gone": "y"})
    second = _folder(tmp_path / "second", {"rows.jsonl": '{"a": 1}\n{"a": 3}\n', "same": "x"})
    assert compare(first, second, []) == 2
    assert capsys.readouterr().out.splitlines() == [
        "gone",
        f"  only in {first}",
        "rows.jsonl",
        '  - {"a": 2}',
        '  + {"a": 3}',
        "2 of 3 files differ",
    ]


def test_an_allowed_hash_is_masked_where_it_is_referred_to_and_nothing_else_is(tmp_path: Path) -> None:
    one, other = "0123456789abcdef", "fedcba9876543210"
    first, second = (
        _folder(
            tmp_path / version,
            {
                f"results/{version}.json": f'{{"fingerprint": "{version}", "n": 1}}',
                "set.json": f"see {version}",
            },
        )
        for version in (one, other)
    )
    assert compare(first, second, []) == 3
    assert compare(first, second, ["fingerprint"]) == 0
    (second / f"results/{other}.json").write_text(f'{{"fingerprint": "{other}", "n": 2}}')
    assert compare(first, second, ["fingerprint"]) == 1


def _folder(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder
