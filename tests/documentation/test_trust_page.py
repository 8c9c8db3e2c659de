"""docs/trust.md: the files that need consent, the names of secrets, what runs and is sent are those of the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from actors.capabilities.code_analysis.models import repository_overview as overview
from actors.capabilities.code_change.session.consent import CONTRACT_FILE, RULE_FILES
from actors.capabilities.code_change.store.agreement_files import FOLDER
from actors.capabilities.code_change.store.context_file import CONTEXT_FILE
from actors.capabilities.violation_fix.checks.project_rules import RULES_FILE
from runtime.codebase.files.consent import Consent
from runtime.codebase.files.project_config import CONFIG_FILE
from runtime.codebase.files.walk import is_secret
from runtime.contracts.loading import load_contract
from serve.wiring import CHANGE_CONTRACT

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "trust.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("file", [CONTRACT_FILE, *RULE_FILES, CONTEXT_FILE, RULES_FILE, CONFIG_FILE, f"{FOLDER}/"])
def test_each_file_that_a_repository_may_configure_is_named(file: str) -> None:
    (table,) = re.findall(r"^\| file \| without your consent \|\n.*?\n\n", PAGE, re.MULTILINE | re.DOTALL)
    assert f"`{file}`" in table


def test_the_names_that_are_given_for_secrets_are_taken_for_secrets() -> None:
    (told,) = re.findall(r"hold secrets \((.*?) and the like\)", PAGE, re.DOTALL)
    names = re.findall(r"`(.*?)`", told)
    assert len(names) == 4
    assert [name for name in names if not is_secret(name.replace("*", "server"))] == []
    assert not is_secret("settings.py")


def test_the_shipped_contract_runs_no_command() -> None:
    assert "The shipped contract has\n  none." in PAGE
    assert [name for name, phase in load_contract(CHANGE_CONTRACT).phases.items() if phase.checks] == []


def test_consent_is_kept_in_the_state_folder(tmp_path: Path) -> None:
    Consent(tmp_path).allow(Path("/repository"), {"CLAUDE.md": "0"})
    assert [path.name for path in tmp_path.iterdir()] == ["allowed.json"]
    assert "`allowed.json`" in PAGE


def test_the_bounds_of_what_a_model_is_sent_of_a_repository_are_those_of_the_code() -> None:
    told = " ".join(PAGE.partition("### What a model is sent\n")[2].partition("\n### ")[0].split())
    assert f"up to {overview.MAX_FOLDERS} folders" in told
    assert f"{overview.MAX_HEAD_CHARS:,} characters" in told
    assert f"up to {overview.MAX_FILES_CHARS:,} characters" in told


STARTS = [
    (page.name, block, line)
    for page in sorted((ROOT / "docs").rglob("*.md"))
    for block in re.findall(r"^```sh\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    for line in block.splitlines()
    if line.startswith("ray start")
]


@pytest.mark.parametrize(("page", "block", "line"), STARTS)
def test_no_cluster_that_a_page_starts_reports_usage_statistics(page: str, block: str, line: str) -> None:
    before = block.partition(line)[0]
    assert "export RAY_USAGE_STATS_ENABLED=0" in before or "--disable-usage-stats" in line, page
