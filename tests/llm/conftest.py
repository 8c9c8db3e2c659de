"""One cluster with one engine for all tests of vLLM on CPU: the tiny model, made on the spot. Run by `make test-llm`.

Without vLLM they are not collected; in CI they run in an environment of their own.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runtime.llm.model_file import ModelsFile, VllmDeployment, load_models
from runtime.settings import RaySettings, shipped_config_dir

collect_ignore_glob = [] if importlib.util.find_spec("vllm") else ["test_*.py"]


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> ModelsFile:
    """The shipped model file for the tiny model, with the model where it was made."""
    from serve.llm.tiny_model import make_tiny_model

    folder = make_tiny_model(tmp_path_factory.mktemp("models") / "tiny-model")
    text = (shipped_config_dir() / "models" / "vllm_tiny.yaml").read_text(encoding="utf-8")
    path = folder.parent / "vllm_tiny.yaml"
    path.write_text(text.replace("model: tiny-model", f"model: {folder}"), encoding="utf-8")
    return load_models(path)


@pytest.fixture(scope="session")
def deployment(tiny: ModelsFile) -> VllmDeployment:
    found = tiny.deployments["main"]
    assert isinstance(found, VllmDeployment)
    return found.model_copy(update={"total_timeout_s": 600})


@pytest.fixture(scope="session")
def served(tiny: ModelsFile, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A handle of the deployed model."""
    from ray import serve as ray_serve

    from actors.cluster import start_local
    from serve.llm.model_server import deploy

    state: Path = tmp_path_factory.mktemp("state")
    cluster = start_local(RaySettings(num_cpus=2), state)
    try:
        (application,) = deploy(tiny)
        yield ray_serve.get_app_handle(application)
    finally:
        stop: Any = ray_serve.shutdown
        stop()
        cluster.shutdown()
