"""The files under deploy/ fit the commands and metrics of this version, and the programs that will read them."""

from __future__ import annotations

import json
import re
import runpy
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from starlette.testclient import TestClient

from sleuth import Document, Engine
from sleuth.surfaces.http import ServerSettings, create_app
from tests.commands import sleuth

HOME = Path(__file__).parents[1]
DEPLOY = HOME / "deploy"
OBJECTS = sorted(
    path for path in (DEPLOY / "kubernetes").rglob("*.yaml") if path.name != "kustomization.yaml"
)
FLAG = re.compile(r"--[a-z][a-z-]+")


def _yaml(path: Path) -> list[Any]:
    return list(yaml.safe_load_all(path.read_text("utf8")))


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    """Yield each mapping within a value."""
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from _objects(part)


def _serve_arguments() -> Iterator[tuple[str, list[str]]]:
    """Yield the arguments that each file gives `sleuth`, with the name of the file."""
    image = runpy.run_path(str(HOME / "tools" / "image_steps.py"))
    steps = dict(image["instructions"]((DEPLOY / "Dockerfile").read_text("utf8")))
    yield "Dockerfile", json.loads(steps["CMD"])
    (compose,) = _yaml(DEPLOY / "compose.yaml")
    yield "compose.yaml", compose["services"]["server"]["command"]
    unit = re.search(
        r"^ExecStart=\S+/sleuth (.*)$", (DEPLOY / "systemd/sleuth.service").read_text("utf8"), re.M
    )
    assert unit
    yield "sleuth.service", unit[1].split()
    for path in OBJECTS:
        for value in _objects(_yaml(path)):
            if "args" in value:
                yield str(path.relative_to(DEPLOY)), value["args"]
            if "entrypoint" in value:
                yield str(path.relative_to(DEPLOY)), value["entrypoint"].split()[1:]


def test_every_option_that_a_file_gives_exists(tmp_path: Path) -> None:
    """The commands take each option, and each server that others reach has keys."""
    options_of = {}
    for name, arguments in _serve_arguments():
        words = [word for word in arguments if not word.startswith("-")]
        command = words[:2] if words[0] == "cluster" else words[:1]
        options = set(FLAG.findall(sleuth(*command, "--help", cwd=tmp_path, COLUMNS="200").stdout))
        flags = set(FLAG.findall(" ".join(arguments)))
        assert flags <= options, (name, flags - options)
        options_of[name] = flags
    assert [name for name, flags in options_of.items() if "--host" in flags and "--keys" not in flags] == []
    assert len(options_of) == 6


def test_alerts_and_panels_name_metrics_of_the_server(tmp_path: Path) -> None:
    """Each series in alerts and dashboard is one that /metrics gives, with labels that it has."""
    with Engine.open(tmp_path / "index", create=True) as engine:
        engine.add([Document("Tokens are refilled every second.")])
        with TestClient(create_app(engine, ServerSettings()), "http://localhost") as client:
            client.post("/v1/search", json={"query": "tokens"}).raise_for_status()
            text = client.get("/metrics").text
    series = set(re.findall(r"^(sleuth_\w+)", text, re.MULTILINE))
    (alerts,) = _yaml(DEPLOY / "monitoring" / "alerts.yml")
    rules = [rule for group in alerts["groups"] for rule in group["rules"]]
    dashboard = json.loads((DEPLOY / "monitoring" / "dashboard.json").read_text("utf8"))
    targets = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    for expression in [*(rule["expr"] for rule in rules), *targets]:
        assert set(re.findall(r"sleuth_\w+", expression)) <= series, expression
        labels = set(re.findall(r"(\w+)=~?\"", expression)) | set(re.findall(r"(\w+)!=\"", expression))
        assert labels <= {"route", "status", "leg", "lane", "outcome", "job", "event"}, expression


def test_each_alert_has_its_part_of_the_runbook() -> None:
    """The link of an alert leads to a heading, and no part is left of an alert that is gone."""
    (alerts,) = _yaml(DEPLOY / "monitoring" / "alerts.yml")
    rules = {
        rule["alert"]: rule["annotations"]["runbook"] for group in alerts["groups"] for rule in group["rules"]
    }
    headings = re.findall(
        r"^## (\w+)$", (HOME / "docs" / "how-to" / "runbook.md").read_text("utf8"), re.MULTILINE
    )
    assert headings == list(rules)
    assert rules == {name: f"docs/how-to/runbook.md#{name.lower()}" for name in rules}


def test_the_dashboard_is_what_its_program_writes() -> None:
    """The file is made again by `python tools/dashboard.py`."""
    program = runpy.run_path(str(HOME / "tools" / "dashboard.py"))
    assert json.loads((DEPLOY / "monitoring" / "dashboard.json").read_text("utf8")) == program["dashboard"]()


def test_pods_run_without_rights() -> None:
    """Every pod that answers requests runs as a user without rights, on a root that it cannot write."""
    pods = [
        document["spec"]["template"]["spec"]
        for path in OBJECTS
        for document in _yaml(path)
        if document["kind"] == "Deployment"
    ]
    assert len(pods) == 2
    for pod in pods:
        assert pod["securityContext"]["runAsNonRoot"] and not pod["automountServiceAccountToken"]
        for container in pod["containers"]:
            rights = container["securityContext"]
            assert rights["readOnlyRootFilesystem"] and not rights["allowPrivilegeEscalation"]
            assert {"readinessProbe", "livenessProbe", "resources"} <= container.keys()


@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        ("promtool", ["check", "rules", "monitoring/alerts.yml"]),
        ("caddy", ["validate", "--adapter", "caddyfile", "--config", "proxy/Caddyfile"]),
        ("kubectl", ["kustomize", "kubernetes"]),
        ("kubectl", ["kustomize", "kubernetes/cluster"]),
    ],
)
def test_programs_read_their_files(program: str, arguments: list[str]) -> None:
    """The program that will read a file takes it."""
    if not shutil.which(program):
        pytest.skip(f"{program} is not installed")
    result = subprocess.run([program, *arguments], cwd=DEPLOY, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_nginx_reads_its_site(tmp_path: Path) -> None:
    """nginx takes the site, with a certificate made for the test."""
    if not shutil.which("nginx") or not shutil.which("openssl"):
        pytest.skip("nginx or openssl is not installed")
    certificate, key = tmp_path / "fullchain.pem", tmp_path / "privkey.pem"
    request = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=search.example.org"]
    subprocess.run([*request, "-keyout", key, "-out", certificate], capture_output=True, check=True)
    site = (DEPLOY / "proxy" / "nginx.conf").read_text("utf8").replace("/etc/ssl/sleuth", str(tmp_path))
    (tmp_path / "nginx.conf").write_text(
        f"pid {tmp_path}/nginx.pid; error_log {tmp_path}/error.log; events {{}} http {{ access_log off;\n{site}}}"
    )
    command = ["nginx", "-t", "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_objects_fit_the_schemas_of_kubernetes() -> None:
    """The objects of Kubernetes itself have only fields that its schemas know, with values of their types."""
    validator = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is not installed")
    for path in OBJECTS:
        for document in _yaml(path):
            if not document["apiVersion"].startswith("ray.io"):
                validator.validate(document, "1.30", strict=True)
