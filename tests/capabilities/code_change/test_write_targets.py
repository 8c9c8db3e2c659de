"""Paths that no session may write, though they lie beside what it explored."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.capabilities.code_change.evidence.write_guard import write_refusal
from runtime.contracts.session_state import SessionState
from tests.runtime.contracts.session_player import Player


@pytest.fixture
def state() -> SessionState:
    return Player().state.with_(explored=("pkg/keys.py",), shown={"pkg/keys.py": ((1, 1),)})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg/keys.py").write_text("KEYS = 1\n")
    return tmp_path


@pytest.mark.parametrize(
    ("file", "why"),
    [
        ("pkg/keys.py/x", "'pkg/keys.py/x' would lie below 'pkg/keys.py', which is a file"),
        ("pkg/keys.py/deep/x.py", "would lie below 'pkg/keys.py'"),
        ("pkg/.gitattributes", "would decide how git shows files"),
        ("pkg/.GitAttributes", "would decide how git shows files"),
        ("pkg/new.py", ""),
        ("pkg/new/one.py", ""),
        ("pkg/keys.py", ""),
    ],
)
def test_nothing_is_written_below_a_file_and_no_new_attributes_are(
    state: SessionState, folder: Path, file: str, why: str
) -> None:
    told = write_refusal(state, file, folder, reads_count=False)
    assert (why in str(told)) if why else told is None


def test_attributes_that_are_there_and_were_explored_may_be_written(state: SessionState, folder: Path) -> None:
    (folder / ".gitattributes").write_text("*.png binary\n")
    known = state.with_(explored=(*state.explored, ".gitattributes"))
    assert write_refusal(known, ".gitattributes", folder, reads_count=False) is None
