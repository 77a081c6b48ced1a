"""The parser pool: what goes wrong in a worker costs one document and has a name."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import Pipe
from pathlib import Path

import psutil
import pytest

from qagen_dagster.errors import DocumentError
from qagen_dagster.formats.base import ParsedText, ParseOptions, RenderOptions, Source
from qagen_dagster.formats.parser_pool import FileSource, Job, JobLimits, ParserPool
from qagen_dagster.records.document import Outcome
from tests.formats import misbehaving

OPTIONS = ParseOptions()


@pytest.fixture(scope="module")
def pool() -> Iterator[ParserPool]:
    with ParserPool(workers=2, seconds=30, memory_bytes=300_000_000, formats=misbehaving.formats) as pool:
        yield pool


def order(words: str) -> Source:
    return Source("order.bad", words.encode())


def text(pool: ParserPool, words: str) -> str:
    parsed = pool.parse(order(words), OPTIONS)
    assert parsed.outcome is Outcome.PARSED, parsed.detail
    entry = parsed.entries[0]
    assert isinstance(entry, ParsedText)
    return entry.text


def test_a_good_document_comes_back_whole(pool: ParserPool) -> None:
    parsed = pool.parse(order("hello"), OPTIONS)
    assert (parsed.outcome, parsed.format, parsed.parser) == (Outcome.PARSED, "misbehaving", "misbehaving-1")
    assert text(pool, "hello") == "hello"
    assert parsed.bytes == 5


@pytest.mark.parametrize(
    ("words", "said"), [("abort", "SIGABRT"), ("segfault", "SIGSEGV"), ("exit", "exit code 3")]
)
def test_a_dead_parser_is_a_crashed_document(pool: ParserPool, words: str, said: str) -> None:
    parsed = pool.parse(order(words), OPTIONS)
    assert parsed.outcome is Outcome.CRASHED
    assert said in parsed.detail
    assert parsed.sha256, "identity is known although the worker could not tell it"
    assert text(pool, "next") == "next"


@pytest.mark.parametrize("words", ["eat 3000000000", "grow"])
def test_memory_beyond_the_limit_is_out_of_memory(pool: ParserPool, words: str) -> None:
    assert pool.parse(order(words), OPTIONS).outcome is Outcome.OUT_OF_MEMORY
    assert text(pool, "next") == "next"


def test_memory_within_the_limit_is_fine(pool: ParserPool) -> None:
    assert text(pool, "eat 100000000") == "100000000"


@pytest.mark.parametrize(
    ("words", "said"),
    [("hang", "nothing was done for 1 seconds"), ("spin", "not done within 1 seconds of processor time")],
)
def test_a_hang_is_a_timeout(words: str, said: str) -> None:
    with ParserPool(workers=1, seconds=1, formats=misbehaving.formats) as pool:
        parsed = pool.parse(order(words), OPTIONS)
        assert (parsed.outcome, parsed.detail) == (Outcome.TIMEOUT, said)
        assert text(pool, "next") == "next"


def test_a_page_that_takes_too_long_is_not_tried_again(tmp_path: Path) -> None:
    note = tmp_path / "note"
    with ParserPool(workers=1, seconds=1, formats=misbehaving.formats) as pool:
        for page, calls in ((1, 1), (1, 1), (2, 2)):
            with pytest.raises(DocumentError, match="nothing was done for 1 seconds"):
                pool.render(order(f"count {note}"), page, OPTIONS, RenderOptions())
            assert note.read_text().split() == ["called"] * calls


def test_a_parser_that_a_busy_machine_slows_down_is_no_timeout() -> None:
    with ParserPool(workers=1, seconds=1, formats=misbehaving.formats) as pool:
        assert text(pool, "slow") == "0.3 seconds of work"


def test_what_a_hanging_parser_started_dies_with_it(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    with ParserPool(workers=1, seconds=3, formats=misbehaving.formats) as pool:
        assert pool.parse(order(f"child {note}"), OPTIONS).outcome is Outcome.TIMEOUT
    _wait_gone(int(note.read_text()))


def test_the_work_of_what_a_parser_started_counts() -> None:
    with ParserPool(workers=1, seconds=1, formats=misbehaving.formats) as pool:
        assert "processor time" in pool.parse(order("busy"), OPTIONS).detail


def test_exceptions_of_a_parser_are_named(pool: ParserPool) -> None:
    parsed = pool.parse(order("raise"), OPTIONS)
    assert (parsed.outcome, parsed.detail) == (
        Outcome.CORRUPT,
        "ZeroDivisionError: integer division or modulo by zero",
    )
    parsed = pool.parse(order("refuse"), OPTIONS)
    assert (parsed.outcome, parsed.detail) == (Outcome.ENCRYPTED, "it wants a password")


def test_visuals_and_renders_pass_through_and_fail_by_name(pool: ParserPool) -> None:
    assert pool.visuals(order("look"), None, OPTIONS)[0].label == "look"
    image = pool.render(order("draw"), 3, OPTIONS, RenderOptions())
    assert image is not None
    assert (image.data, image.width) == (b"draw", 3)
    with pytest.raises(DocumentError, match="crashed") as crash:
        pool.visuals(order("abort"), None, OPTIONS)
    assert crash.value.outcome == Outcome.CRASHED
    with pytest.raises(DocumentError, match="encrypted"):
        pool.render(order("refuse"), 1, OPTIONS, RenderOptions())


def test_unknown_files_have_outcomes_too(pool: ParserPool) -> None:
    assert pool.parse(Source("a.xyz", b"x"), OPTIONS).outcome is Outcome.UNSUPPORTED
    with pytest.raises(DocumentError, match="unsupported"):
        pool.visuals(Source("a.xyz", b"x"), None, OPTIONS)


def test_files_are_read_by_the_worker(pool: ParserPool, tmp_path: Path) -> None:
    path = tmp_path / "order.bad"
    path.write_text("from disk")
    parsed = pool.parse(FileSource("sub/order.bad", path), OPTIONS)
    assert parsed.name == "sub/order.bad"
    assert parsed.entries == (ParsedText(text="from disk"),)
    large = pool.parse(FileSource("order.bad", path), ParseOptions(max_bytes=3))
    assert large.outcome is Outcome.TOO_LARGE
    assert large.bytes == 9
    missing = pool.parse(FileSource("gone.bad", tmp_path / "gone.bad"), OPTIONS)
    assert (missing.outcome, missing.bytes) == (Outcome.CORRUPT, 0)


def test_workers_persist_and_chatter_stays_out(pool: ParserPool, capfd: pytest.CaptureFixture[str]) -> None:
    with ParserPool(workers=3, formats=misbehaving.formats) as quiet:
        pids = {text(quiet, "pid") for _ in range(5)}
        assert len(pids) == 1, "one at a time needs one worker"
        assert int(pids.pop()) != os.getpid()
        assert text(quiet, "chatter") == "said"
    assert capfd.readouterr() == ("", "")


def test_many_threads_share_few_workers(pool: ParserPool) -> None:
    def one(number: int) -> Outcome:
        words = "abort" if number % 21 == 0 else f"document {number}"
        parsed = pool.parse(order(words), OPTIONS)
        if parsed.outcome is Outcome.PARSED:
            assert parsed.entries == (ParsedText(text=words),)
        return parsed.outcome

    with ThreadPoolExecutor(8) as threads:
        outcomes = list(threads.map(one, range(42)))
    assert outcomes.count(Outcome.CRASHED) == 2
    assert outcomes.count(Outcome.PARSED) == 40


def test_large_documents_pass_both_ways(pool: ParserPool) -> None:
    words = "x" * 20_000_000
    assert text(pool, words) == words


def test_closing_ends_workers_and_calls() -> None:
    pool = ParserPool(workers=2, formats=misbehaving.formats)
    pid = int(text(pool, "pid"))
    seen: list[Outcome] = []
    call = threading.Thread(target=lambda: seen.append(pool.parse(order("hang"), OPTIONS).outcome))
    call.start()
    while not psutil.Process().children():
        time.sleep(0.01)
    time.sleep(0.3)
    pool.close()
    call.join(10)
    assert seen == [Outcome.CRASHED]
    _wait_gone(pid)
    with pytest.raises(RuntimeError, match="closed"):
        pool.parse(order("late"), OPTIONS)
    pool.close()


def test_a_worker_that_cannot_start_is_an_error_of_the_installation() -> None:
    with (
        ParserPool(workers=1, formats=misbehaving.broken_factory) as pool,
        pytest.raises(RuntimeError, match="ImportError: no such library"),
    ):
        pool.parse(order("x"), OPTIONS)


def test_a_format_whose_libraries_are_missing_is_one_too() -> None:
    with (
        ParserPool(workers=1, formats=misbehaving.broken_later) as pool,
        pytest.raises(RuntimeError, match="ImportError: no such library"),
    ):
        pool.parse(Source("a.other", b"text"), OPTIONS)


def test_limits_must_be_positive() -> None:
    with pytest.raises(ValueError, match="positive"):
        ParserPool(workers=0)


def test_workers_end_when_the_parent_is_killed(tmp_path: Path) -> None:
    note = tmp_path / "pids"
    script = tmp_path / "parent.py"
    script.write_text(
        "import os, signal, sys\n"
        "sys.path.insert(0, sys.argv[2])\n"
        "from pathlib import Path\n"
        "from qagen_dagster.formats.base import ParseOptions, Source\n"
        "from qagen_dagster.formats.parser_pool import ParserPool\n"
        "from tests.formats import misbehaving\n"
        "pool = ParserPool(workers=1, formats=misbehaving.formats)\n"
        "parsed = pool.parse(Source('a.bad', b'pid'), ParseOptions())\n"
        "Path(sys.argv[1]).write_text(parsed.entries[0].text)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    root = str(Path(__file__).parents[2])
    done = subprocess.run([sys.executable, str(script), str(note), root], check=False, timeout=60)
    assert done.returncode == -9
    _wait_gone(int(note.read_text()))


def test_a_worker_that_died_while_idle_is_replaced() -> None:
    with ParserPool(workers=1, formats=misbehaving.formats) as pool:
        first = int(text(pool, "pid"))
        os.kill(first, signal.SIGKILL)
        _wait_gone(first)
        assert int(text(pool, "pid")) != first


def test_a_worker_whose_parent_dies_during_a_job_ends_after_its_time() -> None:
    ours, theirs = Pipe()
    short = (
        "import sys; from qagen_dagster.formats import parser_worker; from qagen_dagster.worker_process import serve;"
        "parser_worker._GRACE = 0.2; serve(int(sys.argv[1]), 'qagen_dagster.formats.parser_worker:prepare')"
    )
    worker = subprocess.Popen(
        [sys.executable, "-c", short, str(theirs.fileno())],
        cwd=Path(__file__).parents[2],
        pass_fds=(theirs.fileno(),),
    )
    theirs.close()
    try:
        ours.send((JobLimits(0.3, 300_000_000), misbehaving.formats))
        assert ours.recv() is None
        ours.send(Job("parse", order("spin"), OPTIONS))
        ours.close()  # as the end of the parent closes it
        assert worker.wait(20) == -signal.SIGPROF
    finally:
        worker.kill()
        worker.wait()


def _wait_gone(pid: int) -> None:
    """Wait until the process has ended. A zombie whose other threads still end is not waitable yet."""
    for _ in range(500):
        with contextlib.suppress(psutil.NoSuchProcess):
            process = psutil.Process(pid)
            if process.status() != psutil.STATUS_ZOMBIE or process.num_threads() > 1:
                time.sleep(0.02)
                continue
        return
    raise AssertionError(f"process {pid} is still there")
