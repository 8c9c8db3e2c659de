"""Model files: every fault with its place, roles with their defaults."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.errors import DocumentFaults, SettingsError
from runtime.llm import model_file
from runtime.llm.client_opening import open_client
from runtime.llm.model_file import ModelsFile, read_models
from runtime.llm.provider import all_providers
from runtime.primitives.clock import FakeClock
from runtime.settings import shipped_config_dir
from serve.contributions import providers
from serve.llm.resources import described, lacking, llm_config_of
from serve.llm.vllm_provider import VllmDeployment, bundles

ENDPOINT = "{backend: openai, base_url: 'http://x/v1', model: m, max_model_len: 4096}"
GPU = "{backend: vllm, model: m, accelerator: H100, max_model_len: 4096}"


def load_models(path: Path, role_overrides: dict[str, str] | None = None) -> ModelsFile:
    return model_file.load_models(path, role_overrides, providers())


def written(folder: Path, text: str) -> Path:
    path = folder / "models.yaml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("[]", "", "not a model file"),
        ("roles: {default: {deployment: a}}", "deployments", "required"),
        (f"deployments: {{a: {ENDPOINT}}}\nroles: {{planner: {{deployment: a}}}}", "roles", "'default' is missing"),
        (
            f"deployments: {{a: {ENDPOINT}}}\nroles: {{default: {{deployment: b}}}}",
            "roles.default.deployment",
            "no deployment",
        ),
        (
            f"deployments: {{a: {ENDPOINT}}}\nroles: {{default: {{deployment: a, fallbacks: [a]}}}}",
            "roles.default.fallbacks",
            "tried before",
        ),
        (
            f"deployments: {{a: {ENDPOINT}}}\nroles: {{default: {{deployment: a, max_tokens: 4096}}}}",
            "roles.default.max_tokens",
            "no room for a prompt",
        ),
        ("deployments: {a: {backend: magic}}\nroles: {default: {deployment: a}}", "deployments.a", "magic"),
        (
            f"deployments: {{a: {ENDPOINT.replace('http://', 'ftp://')}}}\nroles: {{default: {{deployment: a}}}}",
            "base_url",
            "pattern",
        ),
        (
            f"deployments: {{a: {ENDPOINT.replace('4096', '255')}}}\nroles: {{default: {{deployment: a}}}}",
            "max_model_len",
            "256",
        ),
        (
            f"deployments: {{a: {GPU.replace('H100', 'cpu, tensor_parallel: 2')}}}\n"
            "roles: {default: {deployment: a}}",
            "deployments.a",
            "tensor_parallel is for GPUs",
        ),
        (
            f"deployments: {{a: {GPU.replace('4096', '4096, engine: {max_model_len: 9}')}}}\n"
            "roles: {default: {deployment: a}}",
            "deployments.a",
            "must not repeat max_model_len",
        ),
        (
            f"deployments: {{a: {GPU.replace('4096', '4096, replicas: {min: 2, max: 1}')}}}\n"
            "roles: {default: {deployment: a}}",
            "replicas",
            "min must not be above max",
        ),
    ],
)
def test_each_fault_is_told_with_its_place(tmp_path: Path, text: str, place: str, words: str) -> None:
    with pytest.raises(DocumentFaults) as caught:
        load_models(written(tmp_path, text))
    told = " ".join(caught.value.values["faults"])
    assert place in told
    assert words in told


@pytest.mark.parametrize(
    ("told", "key", "words"),
    [
        (GPU.replace("model: m", "model: /no/such/model"), "model", "there is no folder /no/such/model"),
        (GPU.replace("model: m", "model: ./weights"), "model", "there is no folder {here}/weights"),
        (GPU.replace("model: m", "model: ~no-such-user/weights"), "model", "there is no folder ~no-such-user/weights"),
        (GPU.replace("model: m", "model: empty"), "model", "the folder {here}/empty holds no model"),
        (GPU.replace("4096", "4096, tokenizer: no/tokenizer.json"), "tokenizer", "there is no {here}/no/tokenizer"),
        (ENDPOINT.replace("4096", "4096, ca_file: no.pem"), "ca_file", "there is no {here}/no.pem"),
    ],
)
def test_a_path_that_leads_nowhere_is_told_as_it_was_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: str, key: str, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    path = written(tmp_path, f"deployments: {{a: {told}}}\nroles: {{default: {{deployment: a}}}}")
    with pytest.raises(DocumentFaults) as caught:
        load_models(path)
    (fault,) = caught.value.values["faults"]
    assert f"deployments.a.{key}: {words.format(here=tmp_path.resolve())}" in fault


@pytest.mark.parametrize("name", ["config.json", "params.json"])
def test_a_folder_with_a_model_in_it_is_taken_by_its_whole_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights" / name).write_text("{}", encoding="utf-8")
    told = GPU.replace("model: m", "model: weights")
    models = load_models(written(tmp_path, f"deployments: {{a: {told}}}\nroles: {{default: {{deployment: a}}}}"))
    assert models.deployments["a"].model == str(tmp_path.resolve() / "weights")


@pytest.mark.parametrize("path", sorted((shipped_config_dir() / "models").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_shipped_model_file_is_valid_and_says_what_it_asks_for(path: Path) -> None:
    models = load_models(path)
    assert len(described(models, all_providers(providers()))) == len(models.deployments)


@pytest.mark.parametrize(("parallel", "gpus"), [(1, 1), (2, 2), (4, 4), (8, 8)])
def test_a_replica_asks_for_a_gpu_for_each_of_its_workers(tmp_path: Path, parallel: int, gpus: int) -> None:
    told = GPU.replace("4096", f"4096, tensor_parallel: {parallel}, cpus_per_replica: 6")
    models = load_models(written(tmp_path, f"deployments: {{a: {told}}}\nroles: {{default: {{deployment: a}}}}"))
    deployment = models.deployments["a"]
    assert isinstance(deployment, VllmDeployment)
    asked = bundles(deployment)
    assert [bundle["GPU"] for bundle in asked] == [1.0] * gpus
    assert [bundle.get("CPU", 0) for bundle in asked] == [6.0] + [0] * (gpus - 1)
    assert all(bundle["accelerator_type:H100"] == 0.001 for bundle in asked)
    assert llm_config_of("a", deployment)["engine_kwargs"]["tensor_parallel_size"] == parallel


def test_a_deployment_on_cpu_asks_for_no_gpu() -> None:
    models = load_models(shipped_config_dir() / "models" / "vllm_tiny.yaml")
    deployment = models.deployments["main"]
    assert isinstance(deployment, VllmDeployment)
    assert bundles(deployment) == [{"CPU": 1.0}]
    config = llm_config_of("main", deployment)
    assert config["accelerator_config"] == {"kind": "cpu"}
    assert "accelerator_type" not in config


@pytest.mark.parametrize(("told", "interval"), [("", None), (", engine: {prefix_cache_retention_interval: 512}", 512)])
def test_what_prompts_share_is_found_in_models_with_sliding_windows_unless_the_file_says_less(
    tmp_path: Path, told: str, interval: int | None
) -> None:
    deployment = f"{GPU.removesuffix('}')}{told}}}"
    models = load_models(written(tmp_path, f"deployments: {{a: {deployment}}}\nroles: {{default: {{deployment: a}}}}"))
    read = models.deployments["a"]
    assert isinstance(read, VllmDeployment)
    assert llm_config_of("a", read)["engine_kwargs"]["prefix_cache_retention_interval"] == interval


def asking_for(tmp_path: Path, *accelerators: str) -> ModelsFile:
    told = {f"m{number}": GPU.replace("H100", kind) for number, kind in enumerate(accelerators)}
    deployments = ", ".join(f"{name}: {text}" for name, text in told.items())
    fallbacks = ", ".join(list(told)[1:])
    return load_models(
        written(
            tmp_path,
            f"deployments: {{{deployments}}}\nroles: {{default: {{deployment: m0, fallbacks: [{fallbacks}]}}}}",
        )
    )


def test_a_cluster_without_a_gpu_is_told_what_is_missing_before_anything_waits_for_one(tmp_path: Path) -> None:
    (problem,) = lacking(asking_for(tmp_path, "H100"), {"CPU": 8.0, "memory": 1e9})
    assert "'m0'" in problem
    assert "GPU 1 (has 0)" in problem
    assert "accelerator_type:H100 0.001 (has 0)" in problem


@pytest.mark.parametrize(("gpus", "is_enough"), [(1.0, False), (2.0, True), (3.0, True)])
def test_deployments_that_fit_one_by_one_must_fit_together(tmp_path: Path, gpus: float, is_enough: bool) -> None:
    cluster = {"CPU": 8.0, "GPU": gpus, "accelerator_type:H100": 1.0}
    problems = lacking(asking_for(tmp_path, "H100", "H100"), cluster)
    assert (problems == []) == is_enough
    assert is_enough or "together" in problems[0]


def test_the_wrong_kind_of_gpu_is_none(tmp_path: Path) -> None:
    cluster = {"CPU": 8.0, "GPU": 8.0, "accelerator_type:A10G": 1.0}
    (problem,) = lacking(asking_for(tmp_path, "H100"), cluster)
    assert "accelerator_type:H100" in problem


def test_a_deployment_that_no_role_uses_asks_for_nothing(tmp_path: Path) -> None:
    text = f"deployments: {{a: {ENDPOINT}, b: {GPU}}}\nroles: {{default: {{deployment: a}}}}"
    assert lacking(load_models(written(tmp_path, text)), {"CPU": 1.0}) == []


def test_roles_can_be_moved_to_another_deployment(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        f"deployments: {{a: {ENDPOINT}, b: {ENDPOINT}}}\nroles: {{default: {{deployment: a, max_tokens: 77}}}}",
    )
    models = load_models(path, {"critic": "b"})
    assert (models.role("critic").deployment, models.role("critic").max_tokens) == ("b", 77)
    assert models.role("planner").deployment == "a"
    with pytest.raises(SettingsError, match=r"models\.roles\.critic.*no deployment 'c'; it has a, b"):
        load_models(path, {"critic": "c"})


def test_a_process_that_cannot_reach_vllm_says_so_when_it_opens_the_models(tmp_path: Path) -> None:
    models = load_models(written(tmp_path, f"deployments: {{a: {GPU}}}\nroles: {{default: {{deployment: a}}}}"))
    with pytest.raises(SettingsError, match="'a' is vLLM on Ray Serve"):
        open_client(models, FakeClock(), all_providers(providers()))


def test_models_travel_as_plain_data() -> None:
    models = load_models(shipped_config_dir() / "models" / "vllm_h100_replicas.yaml")
    assert read_models(models.model_dump(mode="json"), all_providers(providers())) == models
