"""docs/architecture.md says what the code is: the picture is drawn from the contracts, each package has its promise."""

from __future__ import annotations

import re

import pytest

from runtime.pipeline.config import AgentConfig, PipelineConfig
from runtime.pipeline.loading import load_pipeline
from runtime.settings import shipped_config_dir
from tests.architecture_picture import DOCUMENT, ROOT, block, contracts, drawn

_ROW = re.compile(r"^\| (`[^|]*`) \| (?P<promise>[^|]*) \|$", re.MULTILINE)
_NAME = re.compile(r"`([a-z_]+(?:/[a-z_]+)*)`")


def promised() -> dict[str, str]:
    """Package or module → its promise, of all tables of packages."""
    text = DOCUMENT.read_text(encoding="utf-8")
    tables = text[text.index("## Packages, from the ground up") : text.index("## The bus")]
    return {name: row["promise"] for row in _ROW.finditer(tables) for name in _NAME.findall(row[1])}


def test_the_picture_is_what_the_contracts_say() -> None:
    assert drawn() == block(), "the contracts have changed; run `make picture`"


def test_each_package_of_the_contracts_has_its_promise() -> None:
    containers = {layers.container for layers in contracts()}
    named = {name for layers in contracts() for name in layers.names() if name not in containers}
    named -= {"serve", "runtime"}
    assert named, "pyproject.toml has no contract of layers"
    lacking = sorted(name for name in named if not promised().get(name.replace(".", "/"), "").strip())
    assert lacking == []


@pytest.mark.parametrize("name", sorted(promised()))
def test_each_package_that_is_promised_is_there(name: str) -> None:
    assert (ROOT / name).is_dir() or (ROOT / f"{name}.py").is_file()


KEYS_OF_EVERY_PIPELINE = {"name", "description", "agents", "capability", "stage_order", "default_next"}


def keys_in_use() -> set[str]:
    """The keys that some shipped pipeline gives a value of its own."""
    pipelines = [load_pipeline(path) for path in (shipped_config_dir() / "pipelines").glob("*.yaml")]
    of_agents = {key for pipeline in pipelines for agent in pipeline.agents for key in agent.model_fields_set}
    return {key for pipeline in pipelines for key in pipeline.model_fields_set} | of_agents


def test_each_key_of_a_pipeline_has_a_user_or_is_said_to_wait_for_one() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    waiting = text[text.index("What no shipped pipeline uses yet") : text.index("## What is kept where")]
    keys = (set(PipelineConfig.model_fields) | set(AgentConfig.model_fields)) - KEYS_OF_EVERY_PIPELINE
    assert sorted(key for key in keys - keys_in_use() if f"`{key}" not in waiting) == []
