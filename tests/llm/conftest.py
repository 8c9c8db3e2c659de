"""One cluster with one engine for all tests of vLLM on CPU: the tiny model, made on the spot. Run by `make test-llm`;
`make test-llm-gemma` runs the same tests with Gemma 3 270M.

Without vLLM they are not collected; in CI they run in an environment of their own.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runtime.llm.model_file import ModelsFile, load_models
from runtime.settings import RaySettings, shipped_config_dir
from serve.contributions import providers
from serve.llm.vllm_provider import VllmDeployment

collect_ignore_glob = [] if importlib.util.find_spec("vllm") else ["test_*.py"]

# Room for eight whole contexts.
TINY_CACHE_BYTES, GEMMA_CACHE_BYTES = 67_108_864, 805_306_368


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> ModelsFile:
    """The shipped model file for the tiny model, with the model where it was made; Gemma in its place if asked for."""
    folder = tmp_path_factory.mktemp("models") / "model"
    text = (shipped_config_dir() / "models" / "vllm_tiny.yaml").read_text(encoding="utf-8")
    if os.environ.get("JEEVES_TEST_MODEL") == "gemma":
        from serve.llm.gemma_model import make_gemma_model

        make_gemma_model(folder)
        text = text.replace(str(TINY_CACHE_BYTES), str(GEMMA_CACHE_BYTES))
    else:
        from serve.llm.tiny_model import make_tiny_model

        make_tiny_model(folder)
    path = folder.parent / "vllm_tiny.yaml"
    path.write_text(text.replace("model: tiny-model", f"model: {folder}"), encoding="utf-8")
    return load_models(path, contributed=providers())


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
