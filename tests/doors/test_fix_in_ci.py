"""docs/fixes.md: its job for CI brings what was fixed to a remote repository and into patches, whatever is left."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.doors.page_blocks import PageShell, shell_blocks
from tests.doors.program import WITHOUT_VECTORS
from tests.doors.test_fix_status import repository
from tests.runtime.codebase.test_git_writing import git

pytestmark = [pytest.mark.long, pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not installed")]

ENTANGLED = "def f(a, b):\n" + "".join(f"    if a == {n} and b:\n        return g({n})\n" for n in range(12))


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A clone on no branch and with no author, as jobs of CI have it: one unused import, one function too complex."""
    origin = repository(tmp_path / "origin", "x = 1\n")
    (origin / "src" / "payments").mkdir(parents=True)
    (origin / "src" / "payments" / "pay.py").write_text(f"import os\n\n\n{ENTANGLED}")
    git(origin, "add", "-A")
    git(origin, "commit", "-qm", "pay")
    clone = tmp_path / "clone"
    git(origin, "clone", "-q", str(origin), str(clone))
    git(clone, "checkout", "-q", "--detach")
    return clone


def shell_in(checkout: Path) -> PageShell:
    at = str(checkout.parent)
    return PageShell(
        checkout, {}, HOME=at, JEEVES_STATE_DIR=f"{at}/state", JEEVES_RAY__MODE="in_process", **WITHOUT_VECTORS
    )


def test_what_was_fixed_is_pushed_and_kept_as_patches_while_something_is_left(checkout: Path) -> None:
    (job,) = shell_blocks("fixes.md")
    shell_in(checkout).run(job)
    told = json.loads((checkout / "fixes.json").read_text(encoding="utf-8"))
    assert {each["check_id"]: each["ending"] for each in told["violations"]} == {"F401": "fixed", "C901": "skipped"}
    assert told["left"] == []
    assert told["branch"] in git(checkout.parent / "origin", "branch", "--list", told["branch"])
    (patch,) = (checkout / "patches").iterdir()
    git(checkout, "-c", "user.name=a", "-c", "user.email=a@b.example", "am", "-q", str(patch))
    assert (checkout / "src" / "payments" / "pay.py").read_text(encoding="utf-8").lstrip() == ENTANGLED


def test_a_job_in_which_nothing_can_be_fixed_pushes_nothing_and_passes(checkout: Path) -> None:
    (checkout / "src" / "payments" / "pay.py").write_text(ENTANGLED)
    git(checkout, "-c", "user.name=a", "-c", "user.email=a@b.example", "commit", "-qam", "less")
    (job,) = shell_blocks("fixes.md")
    shell_in(checkout).run(job)
    assert not (checkout / "patches").exists()
    assert git(checkout.parent / "origin", "branch", "--list", "jeeves_fixes*") == ""
