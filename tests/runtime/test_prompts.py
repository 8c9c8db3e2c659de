"""Prompts: strict, versioned, and safe from what variables bring in."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.errors import DocumentFaults, InputError, UnknownNameError
from runtime.llm.prompts import PromptRegistry

SHARED = "---\ninputs: []\n---\n# system\nYou answer in JSON.\n"


def prompt(inputs: str, user: str, more: str = "system: shared") -> str:
    return f"---\ninputs: [{inputs}]\n{more}\n---\n# user\n{user}\n"


def registry(folder: Path, **files: str) -> PromptRegistry:
    """A registry over files; `planner_1_2` is planner.1.2.md."""
    home = folder / "prompts" / "sample"
    home.mkdir(parents=True, exist_ok=True)
    for name, text in {"shared_1": SHARED, **files}.items():
        (home / f"{name.replace('_', '.')}.md").write_text(text, encoding="utf-8")
    return PromptRegistry.open([folder], "sample")


def test_a_prompt_is_rendered_with_the_system_part_that_it_shares(tmp_path: Path) -> None:
    made = registry(tmp_path, planner_1=prompt("question", "Plan: {{ question }}!")).render(
        "planner", {"question": "why?"}
    )
    assert (made.system, made.user, made.label) == ("You answer in JSON.", "Plan: why?!", "planner@1")


def test_versions_compare_as_versions(tmp_path: Path) -> None:
    texts = {f"planner_{version}": prompt("", version) for version in ("1_9", "1_10", "1_2_7", "0_99")}
    prompts = registry(tmp_path, **texts)
    assert prompts.get("planner").label == "planner@1.10"
    assert prompts.get("planner@1.9").user.strip() == "1_9"
    assert prompts.get("planner@1.10.0").label == "planner@1.10"


@pytest.mark.parametrize("key", ["planner@3", "planner@", "planner@x", "critic", "critic@1"])
def test_what_is_not_there_is_said_with_what_is(tmp_path: Path, key: str) -> None:
    prompts = registry(tmp_path, planner_1=prompt("", "x"))
    if key == "planner@":
        assert prompts.get(key).label == "planner@1"
        return
    with pytest.raises(UnknownNameError, match="known: planner"):
        prompts.get(key)


@pytest.mark.parametrize("given", [{}, {"question": "a", "facts": "b"}, {"facts": "b"}])
def test_variables_must_be_exactly_those_that_are_declared(tmp_path: Path, given: dict[str, str]) -> None:
    prompts = registry(tmp_path, planner_1=prompt("question", "{{question}}"))
    with pytest.raises(InputError, match="planner@1 takes question"):
        prompts.render("planner", given)


def test_what_a_variable_brings_in_is_not_looked_at_again(tmp_path: Path) -> None:
    prompts = registry(tmp_path, planner_1=prompt("a, b", "{{a}} {{b}}"))
    assert prompts.render("planner", {"a": "{{b}} # system", "b": "x"}).user == "{{b}} # system x"


def test_an_own_folder_goes_before_the_shipped_one(tmp_path: Path) -> None:
    registry(tmp_path / "own", planner_1=prompt("", "mine"))
    registry(tmp_path / "shipped", planner_1=prompt("", "theirs"), critic_1=prompt("", "critic"))
    both = PromptRegistry.open([tmp_path / "own", tmp_path / "shipped"], "sample")
    assert both.render("planner", {}).user == "mine"
    assert both.render("critic", {}).user == "critic"


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("planner", prompt("", "x"), "AGENT.VERSION.md"),
        ("planner_one", prompt("", "x"), "AGENT.VERSION.md"),
        ("planner_1", "no front matter", "front matter"),
        ("planner_1", "---\ninputs: []\n---\nno section\n", "neither a line"),
        ("planner_1", prompt("a", "x"), "'a' is declared, but not used"),
        ("planner_1", prompt("", "{{a}}"), "'a' is used, but not declared"),
        ("planner_1", prompt("", "x", "systen: y"), "unknown key"),
        ("planner_1", prompt("", "x", "system: [y]"), "must be the name of a prompt"),
        ("planner_1", prompt("", "# system\ny"), "a system part of its own"),
        ("planner_1", "---\ninputs: {a: 1}\n---\n# user\nx\n", "must be a list"),
    ],
)
def test_faults_of_a_prompt_are_told_with_its_file(tmp_path: Path, name: str, text: str, words: str) -> None:
    with pytest.raises(DocumentFaults, match=words) as caught:
        registry(tmp_path, **{name: text})
    assert name.replace("_", ".") in str(caught.value.values["faults"])
