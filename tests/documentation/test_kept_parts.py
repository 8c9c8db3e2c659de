"""What the documents say is kept is all that is kept, and the guide's backup copies all that cannot be made again."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from runtime.database.store_part import AnyPart
from runtime.store.parts import all_parts
from serve.contributions import store_parts

DOCS = Path(__file__).resolve().parents[2] / "docs"
STORE, RECOVER, ARCHITECTURE = (
    (DOCS / name).read_text(encoding="utf-8") for name in ("store.md", "guides/recover.md", "architecture.md")
)
PARTS = [part for part in all_parts(store_parts()) if part.shares is None]


def file_of(part: AnyPart) -> str:
    return f"{part.name}/<name>.sqlite" if part.is_family else f"{part.name}.sqlite"


def backup() -> str:
    script = re.search(r"```python backup.py\n(.*?)```", RECOVER, re.S)
    assert script is not None
    return script[1]


def section(text: str, title: str) -> str:
    return text.partition(f"## {title}\n")[2].partition("\n## ")[0]


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_the_page_of_the_store_has_file_schema_and_fate_of_each_part(part: AnyPart) -> None:
    kept = section(STORE, "What is kept where")
    assert f"`{file_of(part)}`" in kept
    assert f"`jeeves_{part.name}{'_<name>' if part.is_family else ''}`" in kept
    fates = [line for line in section(STORE, "Damaged files").splitlines() if f"`{file_of(part)}`" in line]
    assert [("set aside" in fate, "refused" in fate) for fate in fates] == [
        (part.is_disposable, not part.is_disposable)
    ]


@pytest.mark.parametrize("part", [part for part in PARTS if not part.is_disposable], ids=lambda part: part.name)
def test_the_backup_of_the_guide_copies_what_cannot_be_made_again(part: AnyPart) -> None:
    assert (f'"{part.name}/*.sqlite"' if part.is_family else f'"{part.name}"') in backup()


def test_the_backup_copies_databases_that_are_open_and_what_was_allowed(tmp_path: Path) -> None:
    state, copies = tmp_path / "state", tmp_path / "copies"
    state.mkdir()
    copies.mkdir()
    (state / "allowed.json").write_text("{}")
    with sqlite3.connect(state / "code_changes.sqlite") as live:
        live.executescript("CREATE TABLE kept (n); INSERT INTO kept VALUES (7)")
        live.execute("SELECT n FROM kept")
        subprocess.run([sys.executable, "-c", backup(), str(state), str(copies)], check=True, timeout=60)
    with sqlite3.connect(copies / "code_changes.sqlite") as copied:
        assert copied.execute("SELECT n FROM kept").fetchall() == [(7,)]
    assert (copies / "allowed.json").read_text() == "{}"


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_the_page_of_the_architecture_has_the_place_of_each_part(part: AnyPart) -> None:
    kept = section(ARCHITECTURE, "What is kept where")
    assert f"`{part.name}/`" in kept if part.is_family else f"`{part.name}.sqlite`" in kept
