"""Which symbols a change is taken to have proved right, by its evidence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from actors.capabilities.code_change.records.agreements import record_agreement, withdraw_agreement
from actors.capabilities.code_change.session.consent import found_agreements
from actors.capabilities.code_change.store.agreement_files import FOLDER, MAX_QUERY_CHARS, read_agreements
from runtime.codebase.files.consent import Consent
from runtime.contracts.contract import END
from runtime.contracts.session_state import ChecklistItem, Frame, SessionState, Task, Workplace

CODE = '''import net

LIMIT = 3


class Loader:
    """Loads."""

    def load(self, url):
        def attempt():
            return net.fetch(url)

        return attempt()

    def close(self):
        return None


def main():
    return Loader()
'''
FILES = {
    "app/load.py": CODE,
    "tests/test_load.py": "def test_load():\n    assert True\n",
    "docs/a.md": "# A\n\nText.\n",
    "Web.java": "class Web {\n  int get() {\n    return 1;\n  }\n}\n",
    "data.bin": "\0\1",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "project"


def finished(root: Path, *evidence: str, symbols: tuple[str, ...] = (), **fields: object) -> SessionState:
    """A change that is over, with that evidence and those targets of its frame."""
    items = tuple(ChecklistItem(f"item {place}", "done", each) for place, each in enumerate(evidence))
    tasks = (Task("t1", "do it", items, "completed"),)
    frame = Frame(symbols=symbols)
    state = SessionState("c-1", str(root), "MODIFY", "Load twice", "d", phase=END, tasks=tasks, frame=frame)
    return state.with_(place=Workplace(str(root)), **fields)


def agreed(root: Path, state: SessionState) -> list[str]:
    consent = Consent(root.parent / "state")
    told = record_agreement(state, consent)
    files = list(read_agreements(root).files.values())
    if not files:
        return [told]
    assert [found.is_allowed for found in found_agreements(root, consent)] == [True]
    return list(files[0].agreement.symbols)


@pytest.mark.parametrize(
    ("evidence", "symbols"),
    [
        ("app/load.py:13", ["Loader.load"]),
        ("app/load.py:10", ["Loader.load.attempt"]),
        ("app/load.py:9-13", ["Loader.load"]),
        ("app/load.py:9-16", ["Loader.load", "Loader.close"]),
        ("app/load.py:1-20", ["Loader", "main"]),
        ("app/load.py:6", ["Loader"]),
        ("app/load.py:3", ["LIMIT"]),
        ("Web.java:3", ["Web.get"]),
    ],
)
def test_evidence_names_the_definitions_that_it_lies_in_or_holds(root: Path, evidence: str, symbols: list[str]) -> None:
    assert agreed(root, finished(root, evidence)) == symbols


@pytest.mark.parametrize(
    "evidence",
    ["tests/test_load.py:2", "docs/a.md:3", "data.bin:1", "gone.py:1", "../out.py:1", "deleted: old.py", "x"],
)
def test_tests_documents_and_what_is_gone_prove_no_symbol(root: Path, evidence: str) -> None:
    assert agreed(root, finished(root, evidence)) == ["the change proved no symbol, so there is nothing to agree on"]


def test_targets_of_the_frame_follow_what_was_changed(root: Path) -> None:
    state = finished(root, "app/load.py:13", symbols=("load", "main", "not a name", "../x"))
    assert agreed(root, state) == ["Loader.load", "main"]


def test_a_change_that_is_not_finished_was_discarded_or_asks_too_much_makes_none(root: Path) -> None:
    (told,) = agreed(root, finished(root, "app/load.py:13", phase="READY"))
    assert "is not finished" in told
    (told,) = agreed(root, finished(root, "app/load.py:13", outcome="discarded"))
    assert "is not finished" in told
    (told,) = agreed(root, finished(root, "app/load.py:13", query="x" * (MAX_QUERY_CHARS + 1)))
    assert "2001 characters" in told


def test_an_agreement_is_withdrawn_once(root: Path) -> None:
    state = finished(root, "app/load.py:13")
    agreed(root, state)
    assert "was withdrawn" in withdraw_agreement(state)
    assert withdraw_agreement(state) == ""
    assert list((root / FOLDER).iterdir()) == []


def test_what_is_written_is_readable_for_a_person(root: Path) -> None:
    agreed(root, finished(root, "app/load.py:13"))
    (path,) = (root / FOLDER).iterdir()
    assert json.loads(path.read_text()) == {"query": "Load twice", "symbols": ["Loader.load"], "version": 1}
    assert path.read_text().count("\n") > 3
