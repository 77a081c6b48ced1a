"""A process that has loaded what `qagen` needs and is forked for each command: the other side of `warm`.

A command stays what it is, a process with its own environment, folder, output and signals. It only need not spend
seconds on imports. All commands of one such process share its hash seed: tests that would notice start a fresh one.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import select
import socket
import sys
import tempfile
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import psutil

from qagen_dagster.catalog.database import rebuild
from qagen_dagster.english.language import language_of
from tests.support import quick_dagster, waterworks
from tests.support.project import Project
from tests.support.warm import LENGTH

LOADED = ("qagen_dagster.cli.main", "qagen_dagster.definitions", "alembic.command")


def serve(listener: socket.socket) -> None:
    """Fork for each order until nobody is connected any more."""
    sources = [listener, listener.accept()[0]]
    while len(sources) > 1:
        for source in select.select(sources, [], [])[0]:
            if source is listener:
                sources.append(listener.accept()[0])
            elif not _follow(source):
                sources.remove(source)
                source.close()
    for place in (listener.getsockname(), f"{listener.getsockname()}.lock"):
        Path(place).unlink(missing_ok=True)


def _follow(orders: socket.socket) -> bool:
    """Fork for the next order; False if the other side is gone."""
    length, given, _, _ = socket.recv_fds(orders, LENGTH, 3)
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass  # those that ended are forgotten
    if not length:
        return False
    order = json.loads(_whole(orders, int.from_bytes(length)))
    if os.fork() == 0:
        orders.close()
        _watch(order, *given)
        os._exit(0)
    for descriptor in given:
        os.close(descriptor)
    return True


def _whole(orders: socket.socket, length: int) -> bytes:
    data = b""
    while len(data) < length:
        data += orders.recv(length - len(data))
    return data


def _watch(order: dict[str, Any], out: int, err: int, status: int) -> None:
    """Start the command, tell its process id, and how it ends."""
    # It ends without taking the interpreter apart: DuckDB would wait for a thread that the fork left behind.
    command = get_context("fork").Process(target=_work, args=(order, out, err, status))
    command.start()
    os.close(out)
    os.close(err)
    os.write(status, b"%d\n" % (command.pid or 0))
    command.join()
    os.write(status, b"%d\n" % (command.exitcode or 0))


def _work(order: dict[str, Any], out: int, err: int, status: int) -> None:
    os.close(status)
    for descriptor, place in ((out, 1), (err, 2)):
        os.dup2(descriptor, place)
        os.close(descriptor)
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update(order["environ"])
    sys.argv = ["qagen", *order["words"]]
    try:
        importlib.import_module(LOADED[0]).main()
    finally:
        quick_dagster.close()


def _rehearse() -> None:
    """Do once what most commands do, so that they find what libraries load and keep: half of the time of a small run."""
    usual, folder = dict(os.environ), Path.cwd()
    with tempfile.TemporaryDirectory() as root, open(os.devnull, "w") as nowhere:
        project = Project.make(Path(root) / "project")
        project.corpus("water", waterworks.corpus(1), {"ridge.txt": waterworks.notes("ridge")})
        os.environ.update(project.environment(QAGEN_PROFILE="embedded"))
        os.chdir(project.root)
        with contextlib.redirect_stdout(nowhere), contextlib.suppress(SystemExit):
            importlib.import_module(LOADED[0]).main(["run", "--json"])
        os.chdir(folder)
    for parser in psutil.Process().children():
        parser.kill()  # a command starts its own
    quick_dagster.close()
    os.environ.clear()
    os.environ.update(usual)


if __name__ == "__main__":
    for module in LOADED:
        importlib.import_module(module)
    quick_dagster.hurry()
    quick_dagster.prepare()
    with tempfile.TemporaryDirectory() as folder:
        rebuild((), Path(folder) / "catalog.duckdb")  # the next one begins with a copy of an empty one
    language_of("The mill at the quay has a pump that was made by hand in the town.")  # loads its model
    _rehearse()
    gc.freeze()  # what is loaded is not looked through again while a command runs
    serve(socket.socket(fileno=int(sys.argv[1])))
