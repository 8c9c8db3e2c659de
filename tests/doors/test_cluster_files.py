"""The deployment files: what each of them names exists, and the schemas of Ray and of KubeRay accept them."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator
from pydantic import BaseModel

from actors.model_handle import application_name
from runtime.llm.model_file import load_models
from runtime.settings import load_settings
from serve.contributions import providers
from serve.deployed.application import ServiceArguments
from serve.deployed.model_application import ModelArguments, deployment_of
from serve.llm.resources import lacking
from tests.doors.program import TREE

CONFIGS = Path("configs")
SERVE = sorted((CONFIGS / "serve").glob("*.yaml"))
CLUSTER = CONFIGS / "cluster"
SCHEMAS = Path(__file__).parents[1] / "fixtures" / "kuberay"
KUBERNETES = sorted(path for path in CLUSTER.glob("*.yaml") if path.name != "ray_up.yaml")
ARGUMENTS: dict[str, type[BaseModel]] = {
    "serve.deployed.application:application": ServiceArguments,
    "serve.deployed.model_application:application": ModelArguments,
}


def documents(path: Path) -> list[dict[str, Any]]:
    return [each for each in yaml.safe_load_all(path.read_text(encoding="utf-8")) if each is not None]


def ray_clusters() -> list[tuple[str, dict[str, Any]]]:
    """Each file that describes a cluster, and the specification of the cluster."""
    return [
        (path.name, each["spec"].get("rayClusterConfig", each["spec"]))
        for path in KUBERNETES
        for each in documents(path)
        if each["kind"] in ("RayService", "RayCluster")
    ]


CLUSTERS = ray_clusters()


def pods(cluster: dict[str, Any]) -> list[dict[str, Any]]:
    groups = [cluster["headGroupSpec"], *cluster["workerGroupSpecs"]]
    return [group["template"]["spec"] for group in groups]


def kuberay_faults(document: dict[str, Any]) -> list[str]:
    """What KubeRay's schema of a resource says against it; fields that it does not name are faults, too."""
    schema = json.loads((SCHEMAS / f"{document['kind']}.json").read_text(encoding="utf-8"))
    return [error.message for error in Draft202012Validator(schema).iter_errors(document)]


RESOURCES = [(path.name, each) for path in KUBERNETES for each in documents(path) if each["kind"].startswith("Ray")]


@pytest.mark.parametrize(("name", "document"), RESOURCES)
def test_kuberay_accepts_each_of_its_resources(name: str, document: dict[str, Any]) -> None:
    assert kuberay_faults(document) == [], name
    cluster = document["spec"].get("rayClusterConfig", document["spec"])
    cluster["headGroupSpec"]["template"]["spec"]["containrs"] = []
    cluster["workerGroupSpecs"][0]["replicas"] = "two"
    assert sorted(message.partition(" (")[2] or message for message in kuberay_faults(document)) == [
        "'containrs' was unexpected)",
        "'two' is not of type 'integer'",
    ]


@pytest.mark.parametrize("path", SERVE, ids=lambda path: path.stem)
def test_ray_serve_accepts_each_config_and_what_it_names_exists(path: Path) -> None:
    from ray.serve.schema import ServeDeploySchema

    told = yaml.safe_load(path.read_text(encoding="utf-8"))
    schema = ServeDeploySchema.model_validate(told)
    for application in schema.applications:
        module, _, name = application.import_path.partition(":")
        assert callable(getattr(importlib.import_module(module), name))
        arguments = ARGUMENTS[application.import_path].model_validate(application.args)
        if isinstance(arguments, ModelArguments):
            assert application.name == application_name(arguments.deployment)
            assert deployment_of(arguments).accelerator == "H100"


def test_the_application_has_the_deployment_that_the_configs_configure() -> None:
    from serve.deployed.application import application

    built: Any = application({})
    for path in SERVE:
        (service,) = [
            each
            for each in yaml.safe_load(path.read_text(encoding="utf-8"))["applications"]
            if each["name"] == "jeeves"
        ]
        assert [each["name"] for each in service["deployments"]] == [built._bound_deployment.name]


@pytest.mark.long
def test_serve_build_writes_the_config_of_the_application_once_its_arguments_are_given(tmp_path: Path) -> None:
    told = "from serve.deployed.application import application\nservice = application({'grpc': False})\n"
    (tmp_path / "built.py").write_text(told, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "ray.serve.scripts",
        "build",
        "-d",
        str(tmp_path),
        "-o",
        "built.yaml",
        "built:service",
    ]
    done = subprocess.run(command, cwd=tmp_path, env=os.environ | TREE, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (built,) = yaml.safe_load((tmp_path / "built.yaml").read_text(encoding="utf-8"))["applications"]
    (shipped,) = yaml.safe_load((CONFIGS / "serve" / "jeeves.yaml").read_text(encoding="utf-8"))["applications"]
    assert [each["name"] for each in built["deployments"]] == [each["name"] for each in shipped["deployments"]]


def test_unknown_arguments_are_refused_by_name() -> None:
    from serve.deployed.application import application

    with pytest.raises(ValueError, match="konfig"):
        application({"konfig": "x"})


@pytest.mark.parametrize("name", ["rayservice", "rayservice_h100"])
def test_the_service_on_kubernetes_is_the_shipped_serve_config_on_all_interfaces(name: str) -> None:
    (service,) = [each for each in documents(CLUSTER / f"{name}.yaml") if each["kind"] == "RayService"]
    there = yaml.safe_load(service["spec"]["serveConfigV2"])
    shipped = yaml.safe_load((CONFIGS / "serve" / f"{name.replace('rayservice', 'jeeves')}.yaml").read_text("utf-8"))
    assert there.pop("http_options") == {**shipped.pop("http_options"), "host": "0.0.0.0"}
    assert there == shipped


@pytest.mark.parametrize(("name", "cluster"), CLUSTERS, ids=[name for name, _ in CLUSTERS])
def test_every_pod_mounts_what_the_files_define_and_runs_without_rights(name: str, cluster: dict[str, Any]) -> None:
    import ray

    assert cluster["rayVersion"] == ray.__version__
    assert cluster["authOptions"]["mode"] == "token"
    assert "redisAddress" in cluster["gcsFaultToleranceOptions"]
    defined = {(each["kind"], each["metadata"]["name"]) for path in KUBERNETES for each in documents(path)}
    text = json.dumps(cluster)
    for kind, pattern in (
        ("Secret", r'"secretKeyRef": \{"name": "([^"]+)"'),
        ("Secret", r'"secretName": "([^"]+)"'),
        ("ConfigMap", r'"configMap": \{"name": "([^"]+)"'),
        ("PersistentVolumeClaim", r'"claimName": "([^"]+)"'),
    ):
        named = set(re.findall(pattern, text))
        assert named
        assert {(kind, each) for each in named} <= defined
    for pod in pods(cluster):
        assert pod["securityContext"]["runAsNonRoot"] is True
        (container,) = pod["containers"]
        assert container["securityContext"]["allowPrivilegeEscalation"] is False
        assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}
        names = {each["name"] for each in container["env"]}
        assert {"JEEVES_STORE__DSN", "JEEVES_STATE_DIR", "JEEVES_CONFIG_DIR"} <= names


def test_the_settings_on_kubernetes_are_valid_and_its_workers_offer_the_resource_that_they_name(tmp_path: Path) -> None:
    (settings_map,) = documents(CLUSTER / "settings.yaml")
    path = tmp_path / "jeeves.yaml"
    path.write_text(settings_map["data"]["jeeves.yaml"], encoding="utf-8")
    (secret,) = [each for each in documents(CLUSTER / "secrets.example.yaml") if "dsn" in each["stringData"]]
    settings = load_settings(path, {"JEEVES_STORE__DSN": secret["stringData"]["dsn"]})
    for _, cluster in CLUSTERS:
        (workers,) = [group for group in cluster["workerGroupSpecs"] if group["groupName"] == "workers"]
        assert settings.ray.nodes in json.loads(json.loads(workers["rayStartParams"]["resources"]))
        assert workers["replicas"] >= settings.supervisor.shards


def test_agents_on_kubernetes_are_where_the_index_is_on_a_disk_of_that_pod(tmp_path: Path) -> None:
    (settings_map,) = documents(CLUSTER / "settings.yaml")
    path = tmp_path / "jeeves.yaml"
    path.write_text(settings_map["data"]["jeeves.yaml"], encoding="utf-8")
    settings = load_settings(path, {"JEEVES_STORE__DSN": "postgresql://jeeves@localhost/jeeves"})
    assert settings.agents.placement == "near"
    for name, cluster in CLUSTERS:
        offering = [group for group in cluster["workerGroupSpecs"] if "jeeves" in group["rayStartParams"]["resources"]]
        assert [group["maxReplicas"] for group in offering] == [1], name
        for pod in pods(cluster):
            (container,) = pod["containers"]
            (state,) = [each["value"] for each in container["env"] if each["name"] == "JEEVES_STATE_DIR"]
            (mounted,) = [each["name"] for each in container["volumeMounts"] if each["mountPath"] == f"{state}/index"]
            assert [volume["emptyDir"] for volume in pod["volumes"] if volume["name"] == mounted] == [{}], name


def test_pods_with_a_gpu_offer_what_the_model_claims() -> None:
    models = load_models(CONFIGS / "models" / "vllm_h100.yaml", contributed=providers())
    for name, cluster in CLUSTERS:
        groups = [group for group in cluster["workerGroupSpecs"] if group["groupName"] == "h100"]
        assert bool(groups) == (name != "rayservice.yaml")
        for group in groups:
            limits = group["template"]["spec"]["containers"][0]["resources"]["limits"]
            offered = json.loads(json.loads(group["rayStartParams"]["resources"]))
            assert limits["nvidia.com/gpu"] == group["rayStartParams"]["num-gpus"]
            offers = {**offered, "GPU": float(limits["nvidia.com/gpu"]), "CPU": float(limits["cpu"])}
            assert lacking(models, offers) == []


def test_ray_up_accepts_its_file() -> None:
    from ray.autoscaler._private.util import prepare_config, validate_config

    told = yaml.safe_load((CLUSTER / "ray_up.yaml").read_text(encoding="utf-8"))
    validate_config(prepare_config(told))
    for commands in (told["head_start_ray_commands"], told["worker_start_ray_commands"]):
        assert "RAY_AUTH_MODE=token" in commands[-1]
        assert '"jeeves": 1' in commands[-1]


INSTRUCTIONS = {"ARG", "FROM", "WORKDIR", "RUN", "COPY", "ENV", "USER", "ENTRYPOINT", "CMD"}


def test_the_container_file_copies_what_is_there_and_runs_as_nobody_special() -> None:
    text = (CLUSTER / "Dockerfile").read_text(encoding="utf-8")
    joined = re.sub(r"\\\n\s*", "", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE))
    lines = [line.split(maxsplit=1) for line in joined.splitlines() if line.strip()]
    assert {word for word, _ in lines} <= INSTRUCTIONS
    for word, rest in lines:
        if word == "COPY" and not rest.startswith("--from"):
            *sources, _ = rest.split()
            assert all(Path(source).exists() for source in sources), sources
        if word in ("ENTRYPOINT", "CMD"):
            assert json.loads(rest)
        if word == "RUN" and "apt-get install" in rest:
            assert "rm -rf /var/lib/apt/lists/*" in rest
    users = [rest for word, rest in lines if word == "USER"]
    assert users == ["1000"]
    packages = re.search(r"^packages = (\[.*\])$", Path("pyproject.toml").read_text("utf-8"), re.MULTILINE)
    assert packages is not None
    assert {f"COPY {name} ./{name}" in text for name in json.loads(packages[1])} == {True}


GUIDE = Path("docs/guides/deploy.md").read_text(encoding="utf-8")


def test_the_settings_of_the_guide_are_valid(tmp_path: Path) -> None:
    (block,) = re.findall(r"^```yaml\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
    path = tmp_path / "jeeves.yaml"
    path.write_text(block, encoding="utf-8")
    settings = load_settings(path, {"JEEVES_STORE__DSN": "postgresql://jeeves@localhost/jeeves"})
    assert (settings.agents.placement, settings.supervisor.placement) == ("near", "spread")
    offered = re.findall(r"--resources='(.*?)'", GUIDE)
    assert offered
    assert all(settings.ray.nodes in json.loads(each) for each in offered)


def test_the_upgrade_stops_the_service_and_its_pods_by_the_names_that_the_file_gives_them() -> None:
    told = yaml.safe_load_all((CLUSTER / "rayservice.yaml").read_text(encoding="utf-8"))
    (service,) = (each for each in told if each["kind"] == "RayService")
    assert f"\nkubectl delete {service['kind'].lower()} {service['metadata']['name']} &&\n" in GUIDE
    cluster = service["spec"]["rayClusterConfig"]
    templates = [group["template"] for group in (cluster["headGroupSpec"], *cluster["workerGroupSpecs"])]
    labels = {f"{name}={value}" for each in templates for name, value in each["metadata"]["labels"].items()}
    assert re.findall(r"--selector=(\S+)", GUIDE) == list(labels)


def test_every_file_that_the_guide_names_is_there() -> None:
    named = set(re.findall(r"configs/[\w/]+\.yaml|configs/[\w/]+/Dockerfile", GUIDE))
    assert len(named) > 5
    assert all(Path(each).is_file() for each in named), named
    table = set(re.findall(r"^\| `([\w.]+(?:yaml|file))` \|", GUIDE, re.MULTILINE))
    assert table == {path.name for path in CLUSTER.iterdir()} - {"ray_up.yaml"}
