"""Single commands of docs/metrics.md and docs/models.md do what the pages say."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from runtime.run.bearer_tokens import read_token
from tests.doors.program import JEEVES, TREE, Program

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.long
def test_the_command_for_prometheus_writes_a_token_that_may_only_watch(jeeves: Program, tmp_path: Path) -> None:
    page = (DOCS / "metrics.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"^\$ (jeeves token .*)$", page, re.MULTILINE)
    (file,) = re.findall(r"credentials_file: ([^}]+)}", page)
    assert command.endswith(f" > {file}")
    kept = tmp_path / "jeeves.token"
    path = f"{JEEVES.parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | TREE | {"PATH": path, "JEEVES_STATE_DIR": str(tmp_path / "state")}
    subprocess.run(["bash", "-ec", command.replace(file, str(kept))], env=environment, timeout=120, check=True)
    assert read_token(kept.read_text(encoding="utf-8").strip().encode()) is not None
    (row,) = jeeves.run("token", "list").out.splitlines()
    assert row.split()[1:4] == ["valid", "prometheus", "watch"]


def test_the_model_file_for_a_laptop_is_checked_by_validate(jeeves: Program, tmp_path: Path) -> None:
    page = (DOCS / "models.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```yaml laptop\.yaml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert "`jeeves validate laptop.yaml`" in page
    (tmp_path / "laptop.yaml").write_text(block, encoding="utf-8")
    told = jeeves.run("validate", str(tmp_path / "laptop.yaml")).answers().out
    assert "main: qwen2.5:7b-instruct at http://127.0.0.1:11434/v1" in told
