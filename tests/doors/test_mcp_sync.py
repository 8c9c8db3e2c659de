"""`sync_index` and `update_context` by the official client, and what a project's own files change."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runtime.codebase.semantics.similarity import is_installed
from runtime.codebase.semantics.vector_store import has_chroma
from tests.capabilities.code_change.played_agent import git, repository
from tests.doors.mcp_site import Site, stdio_session, text_of
from tests.doors.program import Program

chroma = pytest.mark.skipif(not has_chroma(), reason="the extra chroma is not installed")
pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return repository(tmp_path / "project")


@pytest.fixture
def site(jeeves: Program, project: Path) -> Iterator[Site]:
    opened = Site(stdio_session(jeeves, project, "--tools", "all"))
    yield opened
    opened.close()


@pytest.fixture(params=["sqlite", pytest.param("chroma", marks=chroma)])
def meaning_site(request: pytest.FixtureRequest, jeeves: Program, project: Path) -> Iterator[Site]:
    """A server that makes vectors, and compares them in each of the stores."""
    jeeves.env |= {"JEEVES_CODE_INDEX__EMBEDDINGS": "true", "JEEVES_CODE_INDEX__VECTOR_STORE": request.param}
    opened = Site(stdio_session(jeeves, project, "--tools", "all"))
    yield opened
    opened.close()


def called(site: Site, tool: str, **arguments: Any) -> dict[str, Any]:
    answer = site.call(tool, **arguments)
    assert not answer.is_error, text_of(answer)
    found: dict[str, Any] = answer.structured_content
    return found


def test_files_are_counted_by_what_a_sync_did_with_them(site: Site, project: Path) -> None:
    assert called(site, "search_files", pattern="*.py")["files"]
    told = called(site, "sync_index")
    assert told["files"] == {"added": 0, "changed": 0, "removed": 0, "total": 4}
    (project / "new.py").write_text("def new(): pass\n")
    (project / "cache.py").write_text("KEPT = {1: 2}\n")
    (project / "net.py").unlink()
    assert called(site, "sync_index")["files"] == {"added": 1, "changed": 1, "removed": 1, "total": 4}
    assert called(site, "sync_index")["files"] == {"added": 0, "changed": 0, "removed": 0, "total": 4}
    assert told["note"] == "search by meaning is off"


@pytest.mark.skipif(not is_installed(), reason="the model of meaning is not installed")
def test_chunks_are_counted_by_what_became_of_their_vectors(meaning_site: Site, project: Path) -> None:
    told = called(meaning_site, "sync_index", wait_s=120)["chunks"]
    assert told["left"] == 0
    assert told["embedded"] + told["reused"] == told["total"]
    total = told["total"]
    assert called(meaning_site, "sync_index", wait_s=120)["chunks"] == {
        "total": total,
        "embedded": 0,
        "reused": total,
        "left": 0,
    }
    (project / "net.py").write_text(
        "def fetch(url):\n    raise OSError(url, 'changed')\n\n\ndef more():\n    return 1\n"
    )
    told = called(meaning_site, "sync_index", wait_s=120)
    assert told["files"]["changed"] == 1
    assert told["chunks"] == {"total": total + 1, "embedded": 2, "reused": total - 1, "left": 0}
    (project / "copy.py").write_text((project / "net.py").read_text())
    (project / "net.py").unlink()
    assert called(meaning_site, "sync_index", wait_s=120)["chunks"]["left"] == 0
    called(meaning_site, "sync_index", wait_s=120)
    told = called(meaning_site, "semantic_search", query="download a page by its address")
    assert "copy.py" in {row["file"] for row in told["hits"]}


@chroma
@pytest.mark.skipif(not is_installed(), reason="the model of meaning is not installed")
def test_a_vector_store_that_cannot_be_used_is_said_and_words_go_on(jeeves: Program, project: Path) -> None:
    jeeves.env |= {"JEEVES_CODE_INDEX__EMBEDDINGS": "true", "JEEVES_CODE_INDEX__VECTOR_STORE": "chroma"}
    place = jeeves.state_dir / "index" / "chroma"
    place.parent.mkdir(parents=True)
    place.write_text("a file in its place")
    site = Site(stdio_session(jeeves, project, "--tools", "all"))
    try:
        told = called(site, "semantic_search", query="fetch a page by its url")
        assert str(place) in told["note"]
        assert "net.py" in {row["file"] for row in told["hits"]}
        refused = site.call("sync_index")
        assert refused.is_error
        assert str(place) in text_of(refused)
    finally:
        site.close()


def test_what_a_project_says_of_its_index_holds_for_its_server(jeeves: Program, project: Path) -> None:
    assert jeeves.run("init", "--repo", str(project)).status == 0
    config = project / ".code-intel" / "config.json"
    keys = json.loads(config.read_text())
    assert keys == {
        "source_dirs": [],
        "exclude_patterns": [],
        "embedding_model": "all-MiniLM-L6-v2",
        "chunk_strategy": "syntax",
        "chunk_max_tokens": 512,
        "sync_ttl_hours": 1.0,
        "sync_on_start": True,
    }
    assert git(project, "status", "--porcelain") == ""
    site = Site(stdio_session(jeeves, project, "--tools", "all"))
    try:
        config.write_text(json.dumps({**keys, "exclude_patterns": ["net.py", ".*"], "source_dirs": ["."]}))
        assert called(site, "sync_index")["files"]["total"] == 3
        config.write_text(json.dumps({**keys, "sources": ["."]}))
        refused = site.call("search_text", patterns=["fetch"])
        assert refused.is_error
        assert "unknown field `sources`" in text_of(refused)
        assert "the keys are source_dirs" in text_of(refused)
    finally:
        site.close()


def test_the_summary_of_documents_is_renewed_and_told_where_it_is_needed(
    jeeves: Program, site: Site, project: Path
) -> None:
    refused = site.call("update_context")
    assert (refused.is_error, "jeeves init" in text_of(refused)) == (True, True)
    jeeves.run("init", "--repo", str(project))
    (project / "README.md").write_text("# Loader\n\nLoader fetches pages and keeps them for later use.\n")
    (project / "docs" / "key.pem").write_text("secret")
    told = called(site, "update_context")
    assert (told["documents"], told["added"], told["changed"], told["removed"]) == (2, 2, 0, 0)
    assert told["summary"][0] == {
        "file": "README.md",
        "title": "Loader",
        "about": "Loader fetches pages and keeps them for later use.",
    }
    (project / "docs" / "rules.md").write_text("# New rules\n\nRetry at most twice, and say so.\n")
    (project / "docs" / "more.md").write_text("# More\n")
    (project / "README.md").unlink()
    told = called(site, "update_context")
    assert (told["documents"], told["added"], told["changed"], told["removed"]) == (2, 1, 1, 1)
    assert git(project, "status", "--porcelain", "--", ".code-intel") == ""
    started = called(site, "start_session", intent="QUESTION", query="How often is a load retried?")
    assert started["phase"] == "DOCUMENT_RESEARCH"
    assert [row["file"] for row in started["documents"]] == ["docs/more.md", "docs/rules.md"]
    assert started["docs_path"] == ["docs"]


def test_each_key_of_the_projects_documents_decides_what_is_told(jeeves: Program, site: Site, project: Path) -> None:
    (project / ".code-intel").mkdir()
    (project / ".code-intel" / "context.yml").write_text(
        "sources: [docs, notes]\npatterns: ['*.rst']\n"
        "doc_research: {enabled: true, docs_path: [notes], default_prompts: [verification.md, nothing.md]}\n"
    )
    for name in ("docs/one.rst", "docs/two.md", "notes/three.rst", "other/four.rst"):
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).write_text("Title\n=====\n\nIt says something about loading pages.\n")
    told = called(site, "update_context")
    assert sorted(row["file"] for row in told["summary"]) == ["docs/one.rst", "notes/three.rst"]
    started = called(site, "start_session", intent="QUESTION", query="How often is a load retried?")
    assert [row["file"] for row in started["documents"]] == ["notes/three.rst", "docs/one.rst"]
    assert started["docs_path"] == ["notes"]
    assert started["guide"].startswith("# Verifying a change")


def test_research_is_left_out_only_where_a_person_has_allowed_it(jeeves: Program, site: Site, project: Path) -> None:
    jeeves.run("init", "--repo", str(project))
    path = project / ".code-intel" / "context.yml"
    path.write_text(path.read_text().replace("enabled: true", "enabled: false"))
    started = called(site, "start_session", intent="QUESTION", query="How often is a load retried?")
    assert started["phase"] == "DOCUMENT_RESEARCH"
    assert any("not in force until" in note for note in started["notes"])
    assert "context.yml" in jeeves.run("allow", "--repo", str(project), "--yes").out
    jeeves.run("clean", "--repo", str(project), "--yes")


@pytest.mark.parametrize("syncs", [True, False])
def test_an_edit_that_kept_size_and_time_is_seen_at_the_start_if_the_project_wants_it(
    jeeves: Program, project: Path, syncs: bool
) -> None:
    path = project / "cache.py"
    os.utime(path, ns=(10**18, 10**18))
    assert jeeves.run("index", "--repo", str(project)).status == 0
    path.write_text("KEPT = []\n")
    os.utime(path, ns=(10**18, 10**18))
    (project / ".code-intel").mkdir()
    (project / ".code-intel" / "config.json").write_text(json.dumps({"sync_on_start": syncs}))
    site = Site(stdio_session(jeeves, project, "--tools", "all"))
    try:
        counted = called(site, "get_symbols", path="cache.py")
        assert counted
        assert called(site, "sync_index")["files"]["changed"] == (0 if syncs else 1)
    finally:
        site.close()


def test_rules_of_the_project_are_told_again_and_an_index_is_made_anew_where_the_person_asks(
    jeeves: Program, site: Site, project: Path
) -> None:
    (project / "CLAUDE.md").write_text("Never retry more than three times.\n")
    assert jeeves.run("allow", "--repo", str(project), "--yes").status == 0
    assert called(site, "sync_index")["files"]["total"] == 5
    (index,) = jeeves.state_dir.glob("index/project-*/index.sqlite")
    # A second name keeps the old file, so that its number is not given to the new one.
    before = project.parent / "before.sqlite"
    os.link(index, before)
    told = called(site, "start_session", intent="QUESTION", query="How often is it retried?", flags=["--rebuild"])
    assert (told["phase"], "rebuilds_index" in told) == ("DOCUMENT_RESEARCH", False)
    assert not index.samefile(before)
    assert called(site, "get_session_status")["project_rules"] == told["project_rules"]
    assert told["project_rules"]["CLAUDE.md"].startswith("Never retry")
