"""The files under deploy/ fit the commands and metrics of this version, and the programs that will read them."""

import json
import os
import re
import runpy
import shutil
import subprocess
import tomllib
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
CHART = DEPLOY / "helm"
OBJECTS = [DEPLOY / "kubernetes" / "server.yaml", *sorted((CHART / "templates").glob("*.yaml"))]
RELEASE = {"Release.Name": "docs", "Release.Namespace": "search", "Release.Revision": "3"}
FLAG = re.compile(r"--[a-z][a-z-]+")
OF_SEARCHERS = re.compile("sleuth_(searcher|shards|published)")
"""Names of series that the plugin `ray` gives."""


def read_yaml(path: Path) -> list[Any]:
    return list(yaml.safe_load_all(rendered(path)))


def rendered(path: Path) -> str:
    """Return a file; of a template of the chart, with the values put in. Our templates do nothing else."""
    return re.sub(r"\{\{ \.([\w.]+) \}\}", lambda match: _value(match[1]), path.read_text("utf8"))


def _value(name: str) -> str:
    if name in RELEASE:
        return RELEASE[name]
    value: Any = {"Values": yaml.safe_load((CHART / "values.yaml").read_text("utf8"))}
    for key in name.split("."):
        value = value[key]
    return str(value)


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    """Yield each mapping within a value."""
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from _objects(part)


def serve_arguments() -> Iterator[tuple[str, list[str]]]:
    """Yield the arguments that each file gives `sleuth`, with the name of the file."""
    image = runpy.run_path(str(HOME / "tools" / "image_steps.py"))
    steps = dict(image["instructions"]((DEPLOY / "Dockerfile").read_text("utf8")))
    yield "Dockerfile", json.loads(steps["CMD"])
    (compose,) = read_yaml(DEPLOY / "compose.yaml")
    yield "compose.yaml", compose["services"]["server"]["command"]
    unit = re.search(
        r"^ExecStart=\S+/sleuth (.*)$", (DEPLOY / "systemd/sleuth.service").read_text("utf8"), re.M
    )
    assert unit
    yield "sleuth.service", unit[1].split()
    for path in OBJECTS:
        for value in _objects(read_yaml(path)):
            if "args" in value:
                yield str(path.relative_to(DEPLOY)), value["args"]
            if "entrypoint" in value:
                yield str(path.relative_to(DEPLOY)), value["entrypoint"].split()[1:]


def flags_of(name: str, arguments: list[str], folder: Path) -> set[str]:
    """Return the options that a file gives a command, which has all of them."""
    words = [word for word in arguments if not word.startswith("-")]
    command = words[:2] if words[0] == "cluster" else words[:1]
    options = set(FLAG.findall(sleuth(*command, "--help", cwd=folder, COLUMNS="200").stdout))
    flags = set(FLAG.findall(" ".join(arguments)))
    assert flags <= options, (name, flags - options)
    return flags


def test_every_option_that_a_file_gives_exists(tmp_path: Path) -> None:
    """The commands of the core take each option, and each server that others reach has keys."""
    own = [each for each in serve_arguments() if each[1][0] != "cluster"]  # a plugin's
    options_of = {name: flags_of(name, arguments, tmp_path) for name, arguments in own}
    assert [name for name, flags in options_of.items() if "--host" in flags and "--keys" not in flags] == []
    assert len(options_of) == 4


def alerts() -> list[Any]:
    (file,) = read_yaml(DEPLOY / "monitoring" / "alerts.yml")
    return [rule for group in file["groups"] for rule in group["rules"]]


def dashboard() -> Any:
    return json.loads((DEPLOY / "monitoring" / "dashboard.json").read_text("utf8"))


def expressions() -> list[str]:
    """Return what alerts and panels ask for."""
    targets = [target["expr"] for panel in dashboard()["panels"] for target in panel["targets"]]
    return [*(rule["expr"] for rule in alerts()), *targets]


def series_in(metrics: str) -> set[str]:
    """Return the names of the series in an answer of /metrics."""
    return set(re.findall(r"^(sleuth_\w+)", metrics, re.MULTILINE))


def series_asked_for(*, of_searchers: bool) -> set[str]:
    """Return the names of series that alerts and panels ask for: those of searchers, or all others."""
    names = {name for expression in expressions() for name in re.findall(r"sleuth_\w+", expression)}
    return {name for name in names if bool(OF_SEARCHERS.match(name)) is of_searchers}


def test_alerts_and_panels_name_metrics_of_the_server(hybrid: Engine) -> None:
    """Each series in alerts and dashboard is one that /metrics gives, with labels that it has."""
    hybrid.add([Document("Tokens are refilled every second.")])
    with TestClient(create_app(hybrid, ServerSettings()), "http://localhost") as client:
        client.post("/v1/search", json={"query": "tokens"}).raise_for_status()
        series = series_in(client.get("/metrics").text)
    assert series_asked_for(of_searchers=False) <= series
    for expression in expressions():
        labels = set(re.findall(r"(\w+)=~?\"", expression)) | set(re.findall(r"(\w+)!=\"", expression))
        assert labels <= {"route", "status", "leg", "lane", "outcome", "job", "event"}, expression


def test_each_alert_has_its_part_of_the_runbook() -> None:
    """The link of an alert leads to a heading, and no part is left of an alert that is gone."""
    rules = {rule["alert"]: rule["annotations"]["runbook"] for rule in alerts()}
    headings = re.findall(
        r"^## (\w+)$", (HOME / "docs" / "how-to" / "runbook.md").read_text("utf8"), re.MULTILINE
    )
    assert headings == list(rules)
    assert rules == {name: f"docs/how-to/runbook.md#{name.lower()}" for name in rules}


def test_the_dashboard_is_what_its_program_writes() -> None:
    """The file is made again by `python tools/dashboard.py`."""
    program = runpy.run_path(str(HOME / "tools" / "dashboard.py"))
    assert dashboard() == program["dashboard"]()


def test_pods_run_without_rights() -> None:
    """Every pod that answers requests runs as a user without rights, on a root that it cannot write."""
    objects = [document for path in OBJECTS for document in read_yaml(path)]
    pods = [each["spec"]["template"]["spec"] for each in objects if each["kind"] == "Deployment"]
    assert len(pods) == 1
    for pod in pods:
        assert pod["securityContext"]["runAsNonRoot"] and not pod["automountServiceAccountToken"]
        for container in pod["containers"]:
            rights = container["securityContext"]
            assert rights["readOnlyRootFilesystem"] and not rights["allowPrivilegeEscalation"]
            assert {"readinessProbe", "livenessProbe", "resources"} <= container.keys()
    (service,) = read_yaml(CHART / "templates" / "service.yaml")
    cluster = service["spec"]["rayClusterConfig"]
    for group in (cluster["headGroupSpec"], *cluster["workerGroupSpecs"]):  # Ray writes to /tmp of its root
        pod = group["template"]["spec"]
        assert pod["securityContext"]["runAsNonRoot"]
        assert not any(each["securityContext"]["allowPrivilegeEscalation"] for each in pod["containers"])


@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        ("promtool", ["check", "rules", "monitoring/alerts.yml"]),
        ("caddy", ["validate", "--adapter", "caddyfile", "--config", "proxy/Caddyfile"]),
        ("kubectl", ["kustomize", "kubernetes"]),
        ("helm", ["lint", "--strict", "helm"]),
    ],
)
def test_programs_read_their_files(program: str, arguments: list[str]) -> None:
    """The program that will read a file takes it."""
    output_of(program, *arguments)


def output_of(program: str, *arguments: str) -> str:
    """Run a program in deploy/, which must succeed."""
    if not shutil.which(program):
        pytest.skip(f"{program} is not installed")
    result = subprocess.run([program, *arguments], cwd=DEPLOY, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_nginx_reads_its_site(certificate: tuple[Path, Path], tmp_path: Path) -> None:
    """nginx takes the site, with a certificate of the tests."""
    for file, copy in zip(certificate, ("fullchain.pem", "privkey.pem"), strict=True):
        shutil.copy(file, tmp_path / copy)
    site = (DEPLOY / "proxy" / "nginx.conf").read_text("utf8").replace("/etc/ssl/sleuth", str(tmp_path))
    (tmp_path / "nginx.conf").write_text(
        f"pid {tmp_path}/nginx.pid; error_log {tmp_path}/error.log; events {{}} http {{ access_log off;\n{site}}}"
    )
    output_of("nginx", "-t", "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf"))


def test_objects_fit_the_schemas_of_kubernetes() -> None:
    """The objects of Kubernetes itself have only fields that its schemas know, with values of their types."""
    validator = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is not installed")
    for path in OBJECTS:
        for document in read_yaml(path):
            if not document["apiVersion"].startswith("ray.io"):
                validator.validate(document, "1.30", strict=True)


def test_helm_renders_the_chart_as_these_tests_do() -> None:
    """`helm template` gives the objects that the other tests of this file read."""
    output = output_of("helm", "template", "docs", "helm", "--namespace", "search", "--is-upgrade")
    ours = [document for path in OBJECTS[1:] for document in read_yaml(path)]
    theirs = [document for document in yaml.safe_load_all(output) if document]
    for document in (*ours, *theirs):
        if document["kind"] == "RayJob":  # a template that is not installed has the first revision
            document["metadata"]["name"] = "docs-build-1"
    assert sorted(map(str, theirs)) == sorted(map(str, ours))


def test_every_value_of_the_chart_is_used() -> None:
    """Templates have nothing but values in braces, and each value is in a template."""
    text = "".join(path.read_text("utf8") for path in OBJECTS[1:])
    names = set(re.findall(r"\{\{ \.Values\.([\w.]+) \}\}", text))
    assert len(re.findall(r"\{\{", text)) == len(re.findall(r"\{\{ \.(?:Values|Release)\.[\w.]+ \}\}", text))

    def leaves(value: Any, name: str) -> Iterator[str]:
        if isinstance(value, dict):
            for key, part in value.items():
                yield from leaves(part, f"{name}.{key}" if name else key)
        else:
            yield name

    assert set(leaves(yaml.safe_load((CHART / "values.yaml").read_text("utf8")), "")) == names


def test_objects_fit_the_schemas_of_kuberay() -> None:
    """Objects of Ray have only fields that KubeRay knows; KUBERAY_CRDS names a folder with its definitions."""
    if not (folder := os.environ.get("KUBERAY_CRDS")):
        pytest.skip(
            "KUBERAY_CRDS is not set: it names the folder helm-chart/kuberay-operator/crds of KubeRay"
        )
    validator = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    kinds = set()
    for path in OBJECTS:
        for document in read_yaml(path):
            if not document["apiVersion"].startswith("ray.io"):
                continue
            kinds.add(document["kind"])
            name = f"ray.io_{document['kind'].lower()}s.yaml"
            definition = yaml.load(Path(folder, name).read_text("utf8"), yaml.CSafeLoader)
            (version,) = [each for each in definition["spec"]["versions"] if each["name"] == "v1"]
            schema = _closed(version["schema"]["openAPIV3Schema"])
            validator.Draft7Validator(schema).validate(document)
    assert kinds == {"RayService", "RayJob"}


def _closed(schema: Any) -> Any:
    """Return a schema that refuses fields that it does not name, as the server of Kubernetes drops them."""
    if isinstance(schema, list):
        return [_closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    result = {key: _closed(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and schema.get("type") == "object":
        free = schema.get("x-kubernetes-preserve-unknown-fields") or "additionalProperties" in schema
        if not free and schema["properties"].keys() != {"name"}:
            result["additionalProperties"] = False
    if schema.get("x-kubernetes-int-or-string"):
        result.pop("type", None)
    return result


def test_the_image_is_built_from_all_files_that_the_package_names() -> None:
    """The list of ignored files lets in each file that pyproject.toml puts into the wheel."""
    project = tomllib.loads((HOME / "pyproject.toml").read_text("utf8"))
    groups = project["tool"]["setuptools"]["data-files"].values()
    names = [name for group in groups for name in group]
    names += [project["project"]["readme"], *project["project"].get("license-files", ["LICENSE"])]
    rules = (DEPLOY / "Dockerfile.dockerignore").read_text("utf8").split()
    allowed = [rule[1:] for rule in rules if rule.startswith("!")]
    missing = [
        name for name in names if not any(name == rule or name.startswith(f"{rule}/") for rule in allowed)
    ]
    assert len(names) >= 4
    assert missing == []
