"""Which command lines are plain enough to be asked before Typer and the settings are imported."""

from __future__ import annotations

import subprocess
import sys

import pytest

from runtime.settings import Settings
from serve.cli.main import SINGLE_SETTINGS
from serve.cli.warm_question import plain_options


@pytest.mark.parametrize(
    ("line", "options"),
    [
        (["where?"], {"question": "where?"}),
        (["where?", "--repo", ".", "--json"], {"question": "where?", "--repo": ".", "--json": ""}),
        (["--explain", "--wait", "where?"], {"question": "where?", "--explain": "", "--wait": ""}),
        (
            ["--session", "a", "--pipeline", "b", "--mode", "c", "--config", "d", "--system", "e", "where?"],
            {
                "--session": "a",
                "--pipeline": "b",
                "--mode": "c",
                "--config": "d",
                "--system": "e",
                "question": "where?",
            },
        ),
    ],
)
def test_a_plain_question_is_read_as_typer_reads_it(line: list[str], options: dict[str, str]) -> None:
    assert plain_options(line) == options


@pytest.mark.parametrize(
    "line",
    [
        [],
        ["--json"],
        [""],
        ["one", "two"],
        ["where?", "--repo"],
        ["where?", "--repo", ""],
        ["where?", "--repo", "--json"],
        ["where?", "--repo=."],
        ["where?", "--repo", "a", "--repo", "b"],
        ["where?", "--json", "--json"],
        ["where?", "--no-explain"],
        ["where?", "--models", "openai"],
        ["where?", "--deadline-s", "3"],
        ["where?", "--open"],
        ["--", "--json"],
        ["--help"],
        ["-h", "where?"],
        ["where?", "question"],
    ],
)
def test_any_other_line_is_left_to_typer(line: list[str]) -> None:
    assert plain_options(line) is None


def test_variables_that_hold_one_setting_are_known_without_importing_settings() -> None:
    sections = {name for name, field in Settings.model_fields.items() if hasattr(field.annotation, "model_fields")}
    assert {name.lower() for name in SINGLE_SETTINGS} == set(Settings.model_fields) - sections - {"capability_settings"}


def test_what_a_warm_question_imports_is_light() -> None:
    heavy = "('pydantic', 'typer', 'rich', 'yaml', 'ray', 'numpy')"
    parts = ("cli.main", "cli.warm_question", "cli.asking", "cli.process_end", "runtimes.shortcut")
    imports = ", ".join(f"serve.{part}" for part in parts)
    code = f"import sys, {imports}; print(sorted(set({heavy}) & set(sys.modules)))"
    told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert told.stdout == "[]\n"
