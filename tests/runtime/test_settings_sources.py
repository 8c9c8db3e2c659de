"""Whether settings are the same can be told from what they are read from, without reading them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import pytest
from pydantic import BaseModel

from runtime.primitives.settings_sources import sources_digest, state_dir_in
from runtime.settings import PATHS, Settings, load_settings

HOME = {"HOME": "/home/ann"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.yaml"
    path.write_text("reasoner: rules\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("system", "env"),
    [
        ("nightly", HOME),
        (None, {**HOME, "JEEVES_STATE_DIR": "/var/lib/other"}),
        (None, {**HOME, "jeeves_reasoner": "rules"}),
        (None, {**HOME, "JEEVES_SOMETHING": "1"}),
        (None, {**HOME, "XDG_STATE_HOME": "/var/lib/state"}),
        (None, {"HOME": "/home/bob"}),
    ],
)
def test_another_system_or_variable_gives_another_digest(file: Path, system: str | None, env: dict[str, str]) -> None:
    assert sources_digest(file, system, env) != sources_digest(file, None, HOME)


def test_another_text_or_place_of_the_file_gives_another_digest(file: Path) -> None:
    first = sources_digest(file, None, HOME)
    moved = file.with_name("other.yaml")
    moved.write_bytes(file.read_bytes())
    assert sources_digest(moved, None, HOME) != first
    file.write_text("reasoner: llm\n", encoding="utf-8")
    assert sources_digest(file, None, HOME) != first


def test_what_no_setting_is_read_from_does_not_change_the_digest(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = sources_digest(file, None, {**HOME, "JEEVES_REASONER": "rules"})
    monkeypatch.chdir(file.parent)
    same = {"EDITOR": "vim", "JEEVES_REASONER": "rules", **HOME}
    assert sources_digest(Path(file.name), None, same) == first


def test_a_file_that_cannot_be_read_has_no_digest(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"none\.yaml"):
        sources_digest(tmp_path / "none.yaml", None, HOME)


@pytest.mark.parametrize(
    "env",
    [
        {},
        {"JEEVES_STATE_DIR": "/var/lib/jeeves"},
        {"JEEVES_STATE_DIR": ""},
        {"jeeves_state_dir": "~/state"},
        {"JEEVES_STATE_DIR": "here"},
        {"XDG_STATE_HOME": "/var/lib/state"},
        {"XDG_STATE_HOME": "relative"},
    ],
)
def test_the_state_folder_of_an_environment_is_that_of_its_settings(env: dict[str, str]) -> None:
    assert state_dir_in(env) == load_settings(env=env).state_dir


def paths_below(model: type[BaseModel], path: tuple[str, ...] = ()) -> set[tuple[str, ...]]:
    found = set()
    for name, field in model.model_fields.items():
        here = (*path, name)
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            found |= paths_below(field.annotation, here)
        elif speaks_of_a_path(field.annotation):
            found.add(here)
    return found


def speaks_of_a_path(annotation: Any) -> bool:
    parts = get_args(annotation)
    return annotation is Path or any(map(speaks_of_a_path, parts[:1] if get_origin(annotation) is Annotated else parts))


def test_all_settings_that_are_paths_are_known() -> None:
    assert paths_below(Settings) == set(PATHS)


@pytest.mark.parametrize(
    ("env", "text", "is_relative"),
    [
        ({}, "", False),
        ({"JEEVES_STATE_DIR": "/state"}, "config_dir: ~/configs\n", False),
        ({"JEEVES_STATE_DIR": "state"}, "", True),
        ({}, "config_dir: ../configs\n", True),
        ({"JEEVES_STORE__PATH": "store"}, "", True),
        ({"JEEVES_CONFIG_DIR": "/configs"}, "config_dir: configs\n", False),
        ({}, "http: {repositories: {one: /one, two: two}}\n", True),
    ],
)
def test_a_path_that_depends_on_the_folder_of_the_process_is_told(
    file: Path, env: dict[str, str], text: str, is_relative: bool
) -> None:
    file.write_text(text, encoding="utf-8")
    assert load_settings(file, env=env).has_relative_paths() is is_relative
