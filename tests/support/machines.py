"""What several machines share, as servers on loopback: Redis, PostgreSQL, an S3 server; and the Celery workers.

Only for `make test-distributed`, which installs all of them.
"""

from __future__ import annotations

import atexit
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
import psutil

from qagen_dagster.store import Store

BUCKET = "qagen"
_KEY = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1"}


@dataclass(frozen=True)
class Servers:
    """Where the servers are."""

    redis: str
    postgres: int  # the port; user and database `postgres`, no password
    environment: Mapping[str, str]  # by which every process finds the S3 server

    def dagster_yaml(self) -> str:
        return (
            "telemetry: {enabled: false}\n"
            "nux: {enabled: false}\n"
            "concurrency: {pools: {default_limit: 1}}\n"
            "storage: {postgres: {postgres_db: {hostname: 127.0.0.1, username: postgres, password: '', "
            f"db_name: postgres, port: {self.postgres}}}}}}}\n"
        )


@contextmanager
def servers() -> Generator[Servers]:
    """All three, with their data in a folder that goes with them."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as running:
        root = Path(folder)
        root.chmod(0o755)
        url = running.enter_context(s3_server())
        redis, postgres = free_port(), free_port()
        quiet = ("--save", "", "--appendonly", "no", "--dir", folder)
        running.enter_context(_process(["redis-server", "--port", str(redis), "--bind", "127.0.0.1", *quiet]))
        running.enter_context(_postgres(root / "postgres", postgres))
        for port in (redis, postgres):
            until(lambda port=port: _listens(port))
        yield Servers(f"redis://127.0.0.1:{redis}/0", postgres, {**_KEY, "AWS_ENDPOINT_URL": url})


@contextmanager
def s3_server() -> Generator[str]:
    """An S3 server with an empty bucket; its URL."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with _process([sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]):
        until(lambda: _listens(port))
        httpx.put(f"{url}/{BUCKET}").raise_for_status()
        yield url


class Worker:
    """A Celery worker, in a session of its own: `kill` ends it and all its processes at once, as a power cut does."""

    def __init__(self, name: str, environment: Mapping[str, str], folder: Path, processes: int = 2) -> None:
        words = ["-m", "celery", "--app", "qagen_dagster.defs.celery_worker", "worker", "--queues", "dagster"]
        self.log = folder / f"{name}.log"
        with self.log.open("w") as log:
            self._process = subprocess.Popen(
                [sys.executable, *words, "--concurrency", str(processes), "--hostname", f"{name}@%h"],
                env=environment,
                cwd=folder,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def kill_one(self) -> None:
        """Kill one of the processes that run ops."""
        psutil.Process(self._process.pid).children()[0].kill()

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


def bucket(environment: Mapping[str, str], name: str) -> Store:
    """A store on the S3 server, for this process."""
    os.environ.update(environment)
    return Store(f"s3://{BUCKET}/{name}")


def bucket_roots() -> list[str]:
    """For tests that run on any root: `bucket` where the packages for it are installed."""
    return ["bucket"] if find_spec("s3fs") and find_spec("moto") else []


@cache
def bucket_root() -> str:
    """The URL of a bucket on a server that lives as long as this process."""
    running = ExitStack()
    atexit.register(running.close)
    os.environ.update({**_KEY, "AWS_ENDPOINT_URL": running.enter_context(s3_server())})
    return f"s3://{BUCKET}"


def until(now: Callable[[], bool], seconds: float = 120) -> None:
    """Wait until `now` says so. Raises TimeoutError."""
    end = time.monotonic() + seconds
    while not now():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.05)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _listens(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def _postgres(folder: Path, port: int) -> Generator[None]:
    """PostgreSQL refuses to run as root, so then it runs as the user of Debian's package."""
    programs = max(Path("/usr/lib/postgresql").glob("*/bin"))
    user = pwd.getpwnam("postgres" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name)
    folder.mkdir()
    shutil.chown(folder, user.pw_uid, user.pw_gid)
    run_as = (
        {"user": user.pw_uid, "group": user.pw_gid, "cwd": folder} if os.geteuid() == 0 else {"cwd": folder}
    )
    make = [
        str(programs / "initdb"),
        "--username",
        "postgres",
        "--auth",
        "trust",
        "--no-sync",
        str(folder / "data"),
    ]
    subprocess.run(make, check=True, stdout=subprocess.DEVNULL, **run_as)
    serve = ["-D", str(folder / "data"), "-p", str(port), "-h", "127.0.0.1", "-k", str(folder), "-F"]
    with _process([str(programs / "postgres"), *serve], **run_as):
        yield


@contextmanager
def _process(command: list[str], **options: Any) -> Generator[None]:
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)
    try:
        yield
    finally:
        running.send_signal(signal.SIGINT)
        try:
            running.wait(20)
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait()
