"""An import that a refactoring adds stands where the repository's own settings put it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from actors.capabilities.violation_fix.checks.import_order import keep_import_order
from actors.capabilities.violation_fix.checks.linter import linter_program
from actors.capabilities.violation_fix.refactoring.outcomes import Refactored
from actors.capabilities.violation_fix.refactoring.simplifications.registry import simplify_statement

BODY = """

def f(a):
    try:
        a(sys, sha1, urlparse, b64decode, own)
    except KeyError:
        pass
    return a
"""
OWN = "from urllib.parse import urlparse\n\nfrom shop import own\n"
MIXED = f"from base64 import b64decode\nfrom hashlib import sha1\nimport sys\n{OWN}"
APART = f"import sys\nfrom base64 import b64decode\nfrom hashlib import sha1\n{OWN}"
TOGETHER = '[tool.isort]\nprofile = "black"\nforce_sort_within_sections = true\n'
RUFF = "[tool.ruff.lint.isort]\nforce-sort-within-sections = true\n"
GOOGLE = "[settings]\nprofile = google\nforce_single_line = 1\n"


def suppressed(source: str) -> str:
    line = 1 + source.splitlines().index("    try:")
    done = simplify_statement(source, line, "suppress_exception")
    assert isinstance(done, Refactored), done
    return done.source


@pytest.mark.parametrize(
    ("file", "settings", "imports"),
    [
        ("pyproject.toml", TOGETHER, MIXED),
        ("pyproject.toml", RUFF, MIXED),
        ("ruff.toml", "[lint.isort]\nforce-sort-within-sections = true\n", MIXED),
        (".isort.cfg", GOOGLE, MIXED),
        ("pyproject.toml", "", MIXED),
        ("pyproject.toml", "", APART),
        ("pyproject.toml", '[tool.isort]\nprofile = "black"\n', APART),
        ("pyproject.toml", "no TOML at all =", APART),
    ],
)
def test_an_added_import_brings_no_violation_of_the_order(
    tmp_path: Path, file: str, settings: str, imports: str
) -> None:
    (tmp_path / file).write_text(settings)
    (tmp_path / "shop").mkdir()
    before = imports + BODY
    after = keep_import_order(tmp_path, before, suppressed(before))
    assert after.count("import contextlib\n") == 1
    assert after.replace("import contextlib\n", "").partition("def f")[0] == imports + "\n\n"
    together = "true" if imports is MIXED else "false"
    (tmp_path / "shop" / "module.py").write_text(after)
    command = [linter_program(), "check", "--isolated", "--no-cache", "--select", "I001", "--config"]
    command += [
        f"lint.isort.force-sort-within-sections={together}",
        "--config",
        'lint.isort.known-first-party=["shop"]',
    ]
    done = subprocess.run([*command, str(tmp_path / "shop" / "module.py")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_imports_that_are_in_no_known_order_stay_where_they_are(tmp_path: Path) -> None:
    before = "import sys\nimport os\n" + BODY
    after = "import contextlib\n" + before
    assert keep_import_order(tmp_path, before, after) == after


def test_what_adds_no_import_is_left_alone(tmp_path: Path) -> None:
    before = MIXED + BODY
    after = before.replace("pass", "a = 3")
    assert keep_import_order(tmp_path, before, after) == after
