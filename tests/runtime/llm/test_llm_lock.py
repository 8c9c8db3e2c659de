"""The lock of the engine's environment keeps up with what Jeeves and its tests need: CI would tell of it too late."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# Of the tools of development only these take part in the engine's tests.
TAKE_PART = ("pytest", "hypothesis", "httpx")


def locked() -> dict[str, str]:
    lines = (ROOT / ".ci" / "cpu-llm.lock").read_text(encoding="utf-8").splitlines()
    pinned = [line.split("==") for line in lines if "==" in line and not line.startswith("#")]
    return {canonicalize_name(name): version.split(" ")[0] for name, version in pinned}


def needed() -> list[str]:
    extras = PROJECT["optional-dependencies"]
    tools = [told for told in extras["dev"] if told.startswith(TAKE_PART)]
    return [*PROJECT["dependencies"], *extras["llm"], *tools]


@pytest.mark.parametrize("told", needed())
def test_the_lock_holds_what_is_needed_in_a_version_that_will_do(told: str) -> None:
    requirement = Requirement(told)
    version = locked().get(canonicalize_name(requirement.name))
    assert version is not None, f"{requirement.name} is not in .ci/cpu-llm.lock"
    assert requirement.specifier.contains(version), f"{requirement.name} {version} is not {requirement.specifier}"
