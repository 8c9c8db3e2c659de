"""`.code-intel/context.yml`: what it may say, what is kept of it when its summary is renewed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from actors.capabilities.code_change.session.consent import found_context
from actors.capabilities.code_change.store.context_file import (
    CONTEXT_FILE,
    MAX_BYTES,
    STARTING,
    DocResearch,
    Summarised,
    read_context,
    write_summary,
)
from runtime.codebase.files.consent import Consent
from runtime.errors import InputError

ROW = Summarised("docs/a.md", "0" * 64, "A: «title» # no comment", "- it\n  says")


def put(root: Path, text: str) -> Path:
    path = root / CONTEXT_FILE
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


def test_without_a_file_there_is_nothing(tmp_path: Path) -> None:
    assert read_context(tmp_path) is None
    with pytest.raises(InputError, match="jeeves init"):
        write_summary(tmp_path, ())


def test_what_init_writes_is_read(tmp_path: Path) -> None:
    put(tmp_path, STARTING)
    context = read_context(tmp_path)
    assert context is not None
    assert context.sources[0] == "README.md"
    assert (context.doc_research, context.summary) == (DocResearch(), ())


def test_a_summary_is_renewed_and_everything_else_is_kept_to_the_letter(tmp_path: Path) -> None:
    path = put(tmp_path, STARTING.replace("docs]", "docs, guides]  # mine"))
    for rows in ((ROW,), (ROW, Summarised("README.md", "1" * 64)), ()):
        write_summary(tmp_path, rows)
        context = read_context(tmp_path)
        assert context is not None
        assert context.summary == rows
        assert path.read_text().startswith(STARTING.split("sources")[0])
        assert "guides]  # mine" in path.read_text()
        assert path.read_text().count("summary:") == 1


def test_a_summary_that_stands_first_moves_to_the_end(tmp_path: Path) -> None:
    put(tmp_path, "summary:\n- file: x.md\n  sha256: " + "a" * 64 + "\n# about\nsources: [docs]\n")
    write_summary(tmp_path, (ROW,))
    context = read_context(tmp_path)
    assert context is not None
    assert (context.sources, context.summary) == (("docs",), (ROW,))


def test_a_form_that_cannot_be_kept_is_told_and_left_alone(tmp_path: Path) -> None:
    path = put(tmp_path, '{"sources": ["docs"], "summary": []}\n')
    with pytest.raises(InputError):
        write_summary(tmp_path, (ROW,))
    assert path.read_text() == '{"sources": ["docs"], "summary": []}\n'


WRONG = [
    "sources: [../up]",
    "sources: [/etc]",
    "sources: docs",
    "doc_research: {docs_path: [../..]}",
    "doc_research: {enabled: perhaps}",
    "doc_research: {default_prompts: [../secret.md]}",
    "doc_research: {default_prompts: [run.sh]}",
    "patterns: ['']",
    "summary: [{file: x, sha256: short}]",
    f"summary: [{{file: x, sha256: {'0' * 64}, about: {'x' * 301}}}]",
    "more: 1",
    "sources: [",
    "- a list",
    "a: &a [x, x]\nb: [*a, *a]",
    "x: " + "[" * 2_000,
    "sources: [!!python/name:os.system x]",
]


@pytest.mark.long
@pytest.mark.parametrize("text", WRONG)
def test_what_cannot_be_meant_is_refused(tmp_path: Path, text: str) -> None:
    put(tmp_path, text)
    with pytest.raises(InputError, match=r"context\.yml"):
        read_context(tmp_path)
    assert found_context(tmp_path, Consent(tmp_path / "state")) == []


def test_links_pipes_and_too_much_are_not_read_and_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside.yml"
    outside.write_text(STARTING)
    root = tmp_path / "project"
    root.mkdir()
    path = put(root, "x" * (MAX_BYTES + 1))
    with pytest.raises(InputError, match="cannot be read"):
        read_context(root)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(InputError, match="cannot be read"):
        read_context(root)
    path.unlink()
    path.symlink_to(outside)
    with pytest.raises(InputError, match="cannot be read") as caught:
        write_summary(root, (ROW,))
    assert "Errno" not in caught.value.message
    assert outside.read_text() == STARTING


def test_switching_research_off_takes_consent_that_survives_a_new_summary(tmp_path: Path) -> None:
    consent = Consent(tmp_path / "state")
    put(tmp_path, STARTING)
    assert found_context(tmp_path, consent) == []
    put(tmp_path, STARTING.replace("enabled: true", "enabled: false"))
    (found,) = found_context(tmp_path, consent)
    assert not found.is_allowed
    consent.add(tmp_path, {found.file: found.sha256})
    write_summary(tmp_path, (ROW,))
    assert found_context(tmp_path, consent)[0].is_allowed
    put(tmp_path, STARTING.replace("enabled: true", "enabled: false").replace("[docs]", "[elsewhere]"))
    assert not found_context(tmp_path, consent)[0].is_allowed
