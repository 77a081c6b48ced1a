"""MLflow: `qagen export --push` to a server of its own, twice; the second push changes nothing.

The command runs in the environment of the project, with the packages of MLflow behind those of the project.
"""

import json
import os
import socket
import subprocess
import sys
import sysconfig
import time
import urllib.request
from importlib.metadata import version
from pathlib import Path

from report import folders, tell

HERE = Path.cwd()


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def push(address: str) -> list[bool]:
    packages = sysconfig.get_path("purelib")
    code = f"import sys; sys.path.append({packages!r}); from qagen_dagster.cli.main import main; main()"
    python = os.environ["PUSH_PYTHON"]
    command = [python, "-c", code, "export", "--format", "mlflow", "--push", address, "--json"]
    told = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    return [one["changed"] for one in json.loads(told)["exports"]]


port = free_port()
address = f"http://127.0.0.1:{port}"
store = f"sqlite:///{HERE / 'mlflow.db'}"
server = subprocess.Popen(
    [
        sys.executable,
        "-m",
        "mlflow",
        "server",
        "--backend-store-uri",
        store,
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
    ],
    stdout=subprocess.DEVNULL,
    stderr=subprocess.DEVNULL,
)
try:
    for _ in range(240):
        try:
            urllib.request.urlopen(f"{address}/health")
            break
        except OSError:
            time.sleep(0.5)
    assert all(push(address)), "the first push changed nothing"
    import mlflow
    from mlflow.genai import datasets

    mlflow.set_tracking_uri(address)
    sets = {}
    for key, folder in folders("mlflow"):
        order = [
            json.loads(line)["inputs"]["question_id"]
            for line in (folder / "records.jsonl").read_text().splitlines()
        ]
        rows = datasets.get_dataset(name=key).to_df().to_dict("records")
        found = {one["inputs"]["question_id"]: one for one in rows}
        assert sorted(found) == sorted(order), key
        sets[key] = [
            [name, found[name]["inputs"]["question"], found[name]["tags"]["answer"]] for name in order
        ]
    assert not any(push(address)), "the second push changed something"
finally:
    server.terminate()
    server.wait()
tell(sets, version("mlflow"), "equal after a push to its server; the second push changed nothing")
