"""The settings of ruff in a repository: only data of them counts, and only when that is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.capabilities.violation_fix.checks.linter_config import (
    NEWEST,
    declared_version,
    linter_config,
)
from actors.capabilities.violation_fix.checks.listing import list_violations
from actors.capabilities.violation_fix.checks.options import CheckOptions
from runtime.errors import InputError


def codes(root: Path, options: CheckOptions) -> list[str]:
    return [each.check_id for each in list_violations(root, [], options).violations]


OWN = CheckOptions(ignore=("long-function", "deep-nesting"))
PROJECT = CheckOptions(ignore=("long-function", "deep-nesting"), uses_project_config=True)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "root"
    made.mkdir()
    (made / "a.py").write_text("import os\nx = [i for i in range(3)]\n")
    return made


def test_a_repositorys_settings_count_only_when_asked_for(root: Path) -> None:
    (root / "ruff.toml").write_text('lint.select = ["C4"]\n')
    (root / "sub").mkdir()
    (root / "sub" / "ruff.toml").write_text('lint.select = ["ALL"]\n')
    (root / "sub" / "b.py").write_text("import sys\n")
    assert codes(root, OWN) == ["F401", "F401"]
    assert codes(root, PROJECT) == ["C416"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (".ruff.toml", '[lint]\nselect = ["C4"]\n'),
        ("pyproject.toml", '[tool.ruff.lint]\nselect = ["C4"]\n'),
        ("pyproject.toml", '[tool.ruff]\nselect = ["C4"]\nmccabe = {max-complexity = 3}\n'),
    ],
)
def test_settings_are_read_from_each_file_that_ruff_knows(root: Path, name: str, text: str) -> None:
    (root / name).write_text(text)
    assert codes(root, PROJECT) == ["C416"]


def test_no_file_that_settings_name_is_read_and_that_is_said(root: Path) -> None:
    (root.parent / "secret.toml").write_text('lint.select = ["ALL"]\n')
    (root / "ruff.toml").write_text('extend = "../secret.toml"\ncache-dir = "/"\nlint.select = ["C4"]\n')
    report = list_violations(root, [], PROJECT)
    assert [each.check_id for each in report.violations] == ["C416"]
    assert report.notes == ("ruff.toml: these settings of ruff are not used: cache-dir, extend",)


@pytest.mark.parametrize(
    ("setting", "key"),
    [
        ('exclude = ["a.py"]', "exclude"),
        ('extend-exclude = ["*.py"]', "extend-exclude"),
        ('lint.exclude = ["a.py"]', "lint.exclude"),
    ],
)
def test_settings_that_leave_files_out_are_not_used_and_that_is_said(root: Path, setting: str, key: str) -> None:
    (root / "ruff.toml").write_text(f'lint.select = ["F"]\n{setting}\n')
    report = list_violations(root, [], PROJECT)
    assert [each.check_id for each in report.violations] == ["F401"]
    assert report.notes == (f"ruff.toml: these settings of ruff are not used: {key}",)


@pytest.mark.parametrize("folder", ["site-packages", ".vscode", "_build"])
def test_settings_leave_out_no_folder_that_ruff_would_by_its_name(root: Path, folder: str) -> None:
    (root / "ruff.toml").write_text('lint.select = ["F"]\n')
    (root / folder).mkdir()
    (root / "a.py").rename(root / folder / "a.py")
    assert codes(root, PROJECT) == ["F401"]


def test_settings_of_folders_above_do_not_count(root: Path) -> None:
    (root.parent / "ruff.toml").write_text('lint.select = ["C4"]\n')
    assert codes(root, OWN) == ["F401"]
    report = list_violations(root, [], PROJECT)
    assert [each.check_id for each in report.violations] == ["F401"]
    assert report.notes == ("the repository has no settings of ruff at its top",)


def test_a_link_to_settings_elsewhere_is_not_followed(root: Path) -> None:
    (root.parent / "elsewhere.toml").write_text('lint.select = ["C4"]\n')
    (root / "ruff.toml").symlink_to(root.parent / "elsewhere.toml")
    assert linter_config(root).text == ""


def test_settings_that_are_no_toml_or_that_ruff_refuses_are_told(root: Path) -> None:
    (root / "ruff.toml").write_text("lint.select = [\n")
    with pytest.raises(InputError, match=r"ruff\.toml of the repository cannot be read as TOML"):
        codes(root, PROJECT)
    (root / "ruff.toml").write_text('lint.select = ["NONSENSE9"]\n')
    with pytest.raises(InputError, match=r"ruff refuses its rules or settings: .*NONSENSE9"):
        codes(root, PROJECT)


def test_values_that_look_like_other_keys_stay_values(root: Path) -> None:
    (root / "ruff.toml").write_text(
        'builtins = ["a\\"]\\nextend = \\"/etc/passwd\\"", "\\u007f"]\n[lint]\nselect = ["C4"]\n'
        '[lint.per-file-ignores]\n"weird \\" name.py" = ["C4"]\n'
    )
    assert codes(root, PROJECT) == ["C416"]


@pytest.mark.parametrize(
    ("demanded", "version"),
    [(">=3.6", "py37"), (">=3.8,<4", "py38"), ("~=3.10", "py310"), (">=3.99", NEWEST), ("", NEWEST), (">=2.7", NEWEST)],
)
def test_the_demanded_python_is_read_as_a_version_that_ruff_knows(tmp_path: Path, demanded: str, version: str) -> None:
    (tmp_path / "pyproject.toml").write_text(f'[project]\nrequires-python = "{demanded}"\n')
    assert declared_version(tmp_path) == version
    (tmp_path / "pyproject.toml").write_text("no toml")
    assert declared_version(tmp_path) == NEWEST


def test_settings_of_tools_that_are_no_table_hold_none_of_ruff(root: Path) -> None:
    (root / "pyproject.toml").write_text("tool = 3\n")
    assert linter_config(root).text == ""
