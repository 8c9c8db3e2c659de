"""What the operator allowed of a repository: exact contents, kept by repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.codebase.files.consent import MAX_BYTES, Consent
from runtime.errors import StateStorageError


@pytest.fixture
def consent(tmp_path: Path) -> Consent:
    return Consent(tmp_path / "state")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "root"
    made.mkdir()
    return made


def allow(consent: Consent, root: Path, *files: str) -> None:
    consent.allow(root, {each.file: each.sha256 for each in consent.found(root, files)})


def test_a_file_is_allowed_by_its_exact_content_alone(consent: Consent, root: Path) -> None:
    (root / "rules").write_text("one")
    assert [each.is_allowed for each in consent.found(root, ["rules", "gone"])] == [False]
    assert consent.allowed_text(root, "rules") is None
    allow(consent, root, "rules")
    assert consent.allowed_text(root, "rules") == "one"
    (root / "rules").write_text("two")
    assert consent.allowed_text(root, "rules") is None
    assert [each.is_allowed for each in consent.found(root, ["rules"])] == [False]


def test_an_empty_file_is_a_file(consent: Consent, root: Path) -> None:
    (root / "rules").touch()
    allow(consent, root, "rules")
    assert consent.allowed_text(root, "rules") == ""


def test_what_was_allowed_of_one_repository_counts_in_no_other(consent: Consent, root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    for folder in (root, other):
        (folder / "rules").write_text("one")
    allow(consent, root, "rules")
    assert consent.allowed_text(other, "rules") is None
    allow(consent, other, "rules")
    assert consent.allowed_text(root, "rules") == "one"


@pytest.mark.parametrize("content", [b"\xff\xfe", b"x" * (MAX_BYTES + 1)])
def test_what_cannot_be_read_as_text_binds_nobody(consent: Consent, root: Path, content: bytes) -> None:
    (root / "rules").write_bytes(content)
    assert consent.found(root, ["rules"]) == []
    assert consent.allowed_text(root, "rules") is None


def test_a_state_folder_that_is_none_is_named_and_not_taken_for_one_where_nothing_is_allowed(
    consent: Consent, root: Path, tmp_path: Path
) -> None:
    (tmp_path / "state").write_text("")
    with pytest.raises(
        StateStorageError, match=r"state/allowed\.json cannot be read: Not a directory; check the state"
    ):
        consent.allowed(root)
