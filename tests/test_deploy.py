"""The files of deploy/: what they name exists, agrees with the code and with each other. No container tool is needed.

The tests marked `distributed` compare them with the schemas of the programs that read them, and run the steps of the Dockerfile.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
import venv
from importlib import import_module
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from dagster._core.instance.config import dagster_instance_config_schema

from qagen_dagster import settings
from qagen_dagster.configuration.profiles import load_profile
from qagen_dagster.settings import PROJECT_ROOT
from tests.support import markdown

DEPLOY = PROJECT_ROOT / "deploy"
COMPOSE, MODELS, VALUES, INSTANCE, WORKSPACE = (
    yaml.safe_load((DEPLOY / name).read_text())
    for name in ("compose.yaml", "models.yaml", "values.yaml", "dagster.yaml", "workspace.yaml")
)
DOCKERFILE = (DEPLOY / "Dockerfile").read_text()
CONTRACTS = (PROJECT_ROOT / "docs" / "contracts.md").read_text()
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = {name: service for name, service in SERVICES.items() if service["image"] == "qagen"}
(DEPLOYMENT,) = VALUES["dagster-user-deployments"]["deployments"]
ADDRESSES = {"vllm": 8100, "vllm-judge": 8101}
# of Debian's package docker-compose, which the make target unpacks beside its environment
COMPOSE_SCHEMA = Path("compose/usr/lib/python3/dist-packages/compose/config/compose_spec.json")


def steps(word: str) -> list[str]:
    """The instructions of one kind in the Dockerfile, each on one line."""
    joined = re.sub(r"\\\n\s*", "", DOCKERFILE)
    return re.findall(rf"^{word} (.*)$", joined, re.MULTILINE)


def test_every_variable_that_they_set_is_one_that_is_read() -> None:
    documented = {
        name for row in markdown.table(CONTRACTS, "| variable ") for name in re.findall(r"`(\w+)`", row[0])
    }
    compose = set(re.findall(r"\$\{(QAGEN_[A-Z_]+)", (DEPLOY / "models.yaml").read_text()))
    scaling = (PROJECT_ROOT / "docs" / "scaling.md").read_text()
    documented |= {name for name in compose if f"`{name}`" in scaling or f"export {name}=" in scaling}
    set_here = set(
        re.findall(r"\b(QAGEN_[A-Z_]+)", "".join(path.read_text() for path in DEPLOY.glob("[!r]*")))
    )
    assert set_here <= documented
    chosen = {service["environment"]["QAGEN_EXECUTOR"] for service in OURS.values()}
    chosen |= {one["value"] for one in DEPLOYMENT["env"] if one["name"] == "QAGEN_EXECUTOR"}
    assert chosen == {"celery", "k8s"} <= set(settings.EXECUTORS)


def test_the_image_is_made_of_locked_packages_and_its_processes_are_not_root() -> None:
    installs = [step for step in steps("RUN") if "pip install" in step]
    assert ["--require-hashes" in step or step.endswith(" .") for step in installs] == [True, True]
    assert all("--no-deps" in step for step in installs)
    assert steps("USER") == ["qagen"]
    user = re.findall(r"useradd --uid (\d+)", DOCKERFILE)
    for context in (DEPLOYMENT, VALUES["dagsterWebserver"], VALUES["dagsterDaemon"]):
        assert [str(context["podSecurityContext"]["runAsUser"])] == user
    version = tomllib.loads((PROJECT_ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert DEPLOYMENT["image"] == {"repository": "qagen", "tag": version, "pullPolicy": "IfNotPresent"}
    sent = (PROJECT_ROOT / ".dockerignore").read_text().split()
    copied = [source for step in steps("COPY") for source in step.split()[:-1] if source != "."]
    assert [source for source in copied if not (PROJECT_ROOT / source).is_file()] == []
    assert {source.split("/")[0] for source in copied} <= {line.removeprefix("!") for line in sent}


def test_the_lock_of_the_image_has_the_versions_of_the_project() -> None:
    project, image, tests = (
        dict(
            re.findall(r"^([\w.-]+)(?:\[\w+\])?==([^ ;\\]+)", (PROJECT_ROOT / name).read_text(), re.MULTILINE)
        )
        for name in ("requirements.lock", "deploy/requirements.lock", "deploy/requirements-test.lock")
    )
    assert {
        "dagster-celery",
        "dagster-k8s",
        "dagster-postgres",
        "s3fs",
        "redis",
        "psycopg2-binary",
    } <= image.keys()
    assert {name for name in image.keys() & project.keys() if image[name] != project[name]} <= {
        "sqlalchemy",
        "fsspec",
    }
    assert {name for name in image if tests.get(name) != image[name]} == set()


def test_services_name_what_exists() -> None:
    for file in (COMPOSE, MODELS):
        for name, service in file["services"].items():
            assert set(service.get("depends_on", {})) <= set(file["services"]), name
            named = {one.split(":")[0] for one in service.get("volumes", ()) if one[0] not in "./$"}
            assert named <= set(file["volumes"]), name
    (location,) = (one["grpc_server"] for one in WORKSPACE["load_from"])
    assert location["host"] in SERVICES
    assert str(location["port"]) in SERVICES[location["host"]]["command"]
    assert not any("ports" in service for name, service in SERVICES.items() if name != "webserver")
    hosts = re.findall(r"(?:://|@)([a-z]+):\d+", json.dumps(SERVICES["worker"]["environment"]))
    assert set(hosts) == {"postgres", "minio", "redis"} <= set(SERVICES)
    worker = SERVICES["worker"]["command"]
    assert worker[worker.index("--app") + 1] == "qagen_dagster.defs.celery_worker"


def test_each_model_server_has_a_gpu_and_the_model_that_the_profile_asks() -> None:
    profile = load_profile("vllm", None)
    asked = {(spec.model, int((spec.base_url or "").split(":")[2][:4])) for spec in profile.roles.values()}
    served: set[tuple[str, int]] = set()
    gpus: list[str] = []
    for name, port in ADDRESSES.items():
        server = MODELS["services"][name]
        words = server["command"]
        served.add((words[words.index("--model") + 1], int(words[words.index("--port") + 1])))
        assert int(words[words.index("--port") + 1]) == port
        assert server["ports"] == [f"127.0.0.1:{port}:{port}"]
        assert str(port) in server["healthcheck"]["test"][-1]
        (device,) = server["deploy"]["resources"]["reservations"]["devices"]
        gpus += device["device_ids"]
    assert served == asked
    assert gpus == ["0", "1"]
    (rewrite,) = (step for step in steps("RUN") if "sed " in step)
    assert set(re.findall(r"s/localhost:\d+/([\w-]+):(\d+)/", rewrite)) == {
        (n, str(p)) for n, p in ADDRESSES.items()
    }


def test_the_model_servers_need_no_password_and_no_network() -> None:
    """Interpolation fails for a whole file: no service of this one names a variable that must be set."""
    text = (DEPLOY / "models.yaml").read_text()
    assert ":?" not in text
    for name in ADDRESSES:
        server = MODELS["services"][name]
        assert server["environment"]["HF_HUB_OFFLINE"] == "${HF_HUB_OFFLINE:-0}"
        assert server["volumes"] == ["${QAGEN_MODELS:-weights}:/root/.cache/huggingface"]
    assert "${QAGEN_OUTPUT:-../assets}:/output" in MODELS["services"]["qagen"]["volumes"]
    assert (DEPLOY / ".env").read_text().endswith("COMPOSE_PROJECT_NAME=qagen\n")


def test_the_instance_is_one_that_dagster_reads() -> None:
    known = dagster_instance_config_schema()
    assert set(INSTANCE) <= set(known)
    own = yaml.safe_load((PROJECT_ROOT / ".dagster_home" / "dagster.yaml").read_text())
    assert {name: value for name, value in INSTANCE.items() if name != "storage"} == own


@pytest.mark.distributed
def test_the_compose_file_follows_the_schema_of_docker_compose() -> None:
    schema = json.loads((Path(sys.prefix) / COMPOSE_SCHEMA).read_text())
    for file in (COMPOSE, MODELS):
        jsonschema.Draft7Validator(schema).validate(file)


@pytest.mark.distributed
def test_pods_are_what_kubernetes_and_dagster_know() -> None:
    """The chart itself is in no package: its templates are not rendered here."""
    models, k8s = import_module("dagster_k8s.models"), import_module("kubernetes.client")
    kinds = {
        "V1PodSecurityContext": [DEPLOYMENT["podSecurityContext"]],
        "V1ResourceRequirements": [DEPLOYMENT["resources"]],
        "V1Volume": DEPLOYMENT["volumes"],
        "V1VolumeMount": DEPLOYMENT["volumeMounts"],
        "V1EnvVar": DEPLOYMENT["env"],
    }
    for kind, given in kinds.items():
        for one in given:
            model = getattr(k8s, kind)
            models.k8s_model_from_dict(model, models.k8s_snake_case_dict(model, one))
    launcher = VALUES["runLauncher"]["config"]["k8sRunLauncher"]
    sections = {
        re.sub(r"([A-Z])", r"_\1", name).lower(): value for name, value in launcher["runK8sConfig"].items()
    }
    import_module("dagster_k8s.job").UserDefinedDagsterK8sConfig.from_dict(sections)


@pytest.mark.distributed
def test_the_steps_of_the_dockerfile_make_an_environment_that_works(tmp_path: Path) -> None:
    """All but those of the operating system, with the folders of the image in a folder."""
    root, source = tmp_path / "opt", tmp_path / "opt" / "qagen"
    source.mkdir(parents=True)
    sent = [line[1:] for line in (PROJECT_ROOT / ".dockerignore").read_text().split() if line[0] == "!"]
    subprocess.run(["cp", "-r", *(str(PROJECT_ROOT / name) for name in sent), str(source)], check=True)
    venv.create(root / "venv", with_pip=True)
    places = {"PATH": f"{root}/venv/bin:{os.environ['PATH']}", "HOME": str(tmp_path)}
    for step in steps("RUN"):
        if "apt-get" not in step and "useradd" not in step and "-m venv" not in step:
            subprocess.run(["sh", "-c", step], cwd=source, env=places, check=True)
    made = {
        **places,
        "QAGEN_PROFILES": str(source / "profiles"),
        "QAGEN_CORPORA": str(PROJECT_ROOT / "corpora"),
        "QAGEN_EXECUTOR": "celery",
        "QAGEN_CELERY_BROKER": "redis://127.0.0.1:1/0",
        "QAGEN_CELERY_BACKEND": "redis://127.0.0.1:1/0",
        "QAGEN_ASSETS": str(tmp_path / "assets"),
    }
    program = (
        "import qagen_dagster.defs.celery_worker, psycopg2, s3fs, dagster_k8s; print(qagen_dagster.__file__)"
    )
    said = subprocess.run(
        ["python", "-c", program], cwd=tmp_path, env=made, check=True, capture_output=True, text=True
    )
    assert said.stdout.startswith(str(root))
    for command in (
        ["qagen", "--version"],
        ["dagster", "definitions", "validate", "-m", "qagen_dagster.definitions"],
    ):
        subprocess.run(command, cwd=tmp_path, env=made, check=True, capture_output=True)
    profile = (source / "profiles" / "vllm.yaml").read_text()
    assert set(re.findall(r"base_url: http://([\w:-]+)/v1", profile)) == {
        f"{n}:{p}" for n, p in ADDRESSES.items()
    }
