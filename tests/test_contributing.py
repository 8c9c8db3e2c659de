"""What docs/CONTRIBUTING.md names is there, and the hook that it tells of does what it says."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
GUIDE = ROOT / "docs" / "CONTRIBUTING.md"
TEXT = GUIDE.read_text(encoding="utf-8")

LINKED = sorted(set(re.findall(r"\]\(([^)#:]+)\)", TEXT)))
FOLDERS = r"(?:\.ci|actors|configs|runtime|serve|tests|docs)"
NAMED = sorted(set(re.findall(rf"`({FOLDERS}/[\w./]+|[A-Z]+\.md)`", TEXT)))
TARGETS = sorted(set(re.findall(r"\bmake ([a-z-]+)", TEXT)))


@pytest.mark.parametrize("link", LINKED)
def test_each_file_that_is_linked_is_there(link: str) -> None:
    assert (GUIDE.parent / link).exists()


@pytest.mark.parametrize("name", NAMED)
def test_each_file_that_is_named_is_there(name: str) -> None:
    assert (ROOT / name).exists()


@pytest.mark.parametrize("target", TARGETS)
def test_each_target_of_make_is_there(target: str) -> None:
    rules = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(rf"^{re.escape(target)}:", rules, re.MULTILINE)


def test_the_readme_leads_there() -> None:
    assert "(docs/CONTRIBUTING.md)" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_hooks_run_our_own_programs_and_fetch_nothing() -> None:
    (local,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    assert local["repo"] == "local"
    for hook in local["hooks"]:
        program = hook["entry"].split()[0]
        assert program.startswith(".venv/bin/") or (ROOT / program).is_file()


@pytest.mark.parametrize("name", ["bug", "false_statement", "feature"])
def test_each_issue_template_has_a_name_and_asks_something(name: str) -> None:
    template = yaml.safe_load((ROOT / ".github" / "ISSUE_TEMPLATE" / f"{name}.yaml").read_text(encoding="utf-8"))
    assert template["name"]
    assert template["description"]
    ids = [part["id"] for part in template["body"]]
    assert len(ids) == len(set(ids))
    assert any(part.get("validations", {}).get("required") for part in template["body"])


@pytest.mark.parametrize(
    ("message", "is_taken"),
    [
        ("x" * 71, True),
        ("x" * 72, True),
        ("x" * 73, False),
        ("ä" * 72 + "\n\n" + "y" * 200, True),
        ("Retry a stage that failed.", False),
        ("\nBelow an empty line", False),
        ("Merge branch '" + "x" * 80 + "'", True),
    ],
)
def test_the_subject_of_a_commit_is_held_to_its_length(tmp_path: Path, message: str, is_taken: bool) -> None:
    file = tmp_path / "COMMIT_EDITMSG"
    file.write_text(message + "\n", encoding="utf-8")
    done = subprocess.run([ROOT / ".ci" / "commit-subject", file], capture_output=True, text=True, check=False)
    assert (done.returncode == 0) is is_taken, done.stderr
    assert is_taken or "commit-subject: say what changes" in done.stderr
