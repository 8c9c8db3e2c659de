"""The Map from the outcome of a change to the search that it shortens, by the commands and the official client."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from actors.capabilities.code_change.store.agreement_files import agreement_of
from runtime.codebase.semantics.similarity import is_installed
from runtime.codebase.semantics.vector_store import has_chroma
from tests.capabilities.code_change.played_agent import CODE, QUERY, Agent, git, repository
from tests.doors.mcp_site import Site, stdio_session
from tests.doors.program import Program, wait_until

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]

FILE = f".code-intel/agreements/{agreement_of(QUERY, ['load']).key}.json"  # type: ignore[union-attr]


STORES = [
    "sqlite",
    pytest.param("chroma", marks=pytest.mark.skipif(not has_chroma(), reason="the extra chroma is not installed")),
]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return repository(tmp_path / "project")


@pytest.fixture
async def session_id(jeeves: Program, project: Path) -> str:
    """A change that is merged."""
    agent = Agent(project, jeeves.state_dir)
    await agent.start()
    session_id = agent.session.state.session_id
    await agent.finish()
    return session_id


@pytest.fixture
def site(jeeves: Program, project: Path) -> Iterator[Site]:
    opened = Site(stdio_session(jeeves, project, "--tools", "all"))
    yield opened
    opened.close()


def search(site: Site, query: str = QUERY, **arguments: Any) -> dict[str, Any]:
    answer = site.call("semantic_search", query=query, **arguments)
    assert not answer.is_error, answer
    found: dict[str, Any] = answer.structured_content
    return found


async def test_a_success_makes_an_agreement_that_shortens_the_next_search(
    jeeves: Program, project: Path, session_id: str, site: Site
) -> None:
    assert "found_by" not in search(site)
    told = jeeves.run("outcome", session_id, "success")
    assert told.status == 0, told.err
    assert f"agreed on load in {FILE}" in told.out
    assert json.loads((project / FILE).read_text()) == {"query": QUERY, "symbols": ["load"], "version": 1}
    assert git(project, "status", "--porcelain") == ""
    found = search(site, f"  {QUERY.upper()} ".replace("`LOAD`", "`load`"))
    assert found["found_by"] == "map"
    assert [(hit["file"], hit["symbol"]) for hit in found["hits"]] == [("load.py", "load")]
    assert "locate" in found["note"]
    assert "found_by" not in search(site, "Draw the table of leap years")
    assert "found_by" not in search(site, scope="docs")


@pytest.mark.skipif(not is_installed(), reason="the model of meaning is not installed")
@pytest.mark.parametrize("store", STORES)
async def test_a_like_request_is_enough_and_another_name_is_another_request(
    jeeves: Program, project: Path, session_id: str, store: str
) -> None:
    jeeves.run("outcome", session_id, "success")
    jeeves.env |= {"JEEVES_CODE_INDEX__EMBEDDINGS": "true", "JEEVES_CODE_INDEX__VECTOR_STORE": store}
    site = Site(stdio_session(jeeves, project, "--tools", "all"))
    try:
        # The process of the model starts with the first search.
        wait_until(lambda: search(site, "`load` should retry when the network has failed").get("found_by") == "map")
        assert "found_by" not in search(site, "`fetch` should retry when the network has failed")
        assert "found_by" not in search(site, "Draw a table of leap years")
    finally:
        site.close()


async def test_names_that_are_gone_are_not_served(jeeves: Program, project: Path, session_id: str, site: Site) -> None:
    jeeves.run("outcome", session_id, "success")
    assert search(site)["found_by"] == "map"
    (project / "load.py").write_text(CODE.replace("load", "download"))
    assert "found_by" not in search(site)


async def test_a_success_that_is_taken_back_takes_its_agreement_along(
    jeeves: Program, project: Path, session_id: str
) -> None:
    jeeves.run("outcome", session_id, "success")
    told = jeeves.run("outcome", session_id, "failure", "--reason", "it loops")
    assert "was withdrawn" in told.out
    assert not (project / FILE).exists()
    assert "withdrawn" not in jeeves.run("outcome", session_id, "failure").out


async def test_agreements_that_a_repository_brings_along_add_hints_until_they_are_allowed(
    jeeves: Program, project: Path, site: Site
) -> None:
    (project / FILE).parent.mkdir(parents=True)
    content = json.dumps({"version": 1, "query": QUERY, "symbols": ["KEPT", "nowhere"]})
    (project / FILE).write_text(content)
    # In so small a project the search itself may find all there is; what the map adds shows beyond its best place.
    found = search(site, max_results=1)
    assert "found_by" not in found
    assert found["hits"][0]["symbol"] == "load"
    brought = [hit for hit in found["hits"] if hit.get("found_by") == "map"]
    assert [hit["symbol"] for hit in brought] == ["KEPT"]
    assert "1 new of 1 agreements" in jeeves.run("allow", "--repo", str(project), "--yes").out
    found = search(site)
    assert found["found_by"] == "map"
    assert [hit["symbol"] for hit in found["hits"]] == ["KEPT"]
    (project / FILE).write_text(content.replace("KEPT", "fetch"))
    assert "found_by" not in search(site)


async def test_a_frame_is_told_what_was_agreed_on(jeeves: Program, project: Path, session_id: str, site: Site) -> None:
    jeeves.run("outcome", session_id, "success")
    told = site.call("start_session", intent="MODIFY", query=QUERY, flags=["no_doc_research"]).structured_content
    assert told["phase"] == "QUERY_FRAME"
    assert told["agreed_symbols"] == [{"symbol": "load", "file": "load.py", "line": 4}]
    slot = {"value": "load", "quote": "network fails"}
    data = {
        "action_type": {"value": "modify", "quote": "Make"},
        "target_symbols": [slot],
        "tools_used": [],
        "summary": "retry",
    }
    told = site.call("submit_phase", data=data).structured_content
    assert told["phase"] == "EXPLORATION"
    shown = json.loads(jeeves.run("runs", "list", "--json").out)
    assert shown


async def test_what_one_machine_knows_is_carried_to_another(
    jeeves: Program, project: Path, session_id: str, tmp_path: Path
) -> None:
    jeeves.run("outcome", session_id, "success", "--reason", "fine")
    (project / FILE).with_name("0" * 16 + ".json").write_text("{}")
    target = tmp_path / "carried.json"
    told = jeeves.run("outcome", "--export", str(target), "--repo", str(project))
    assert told.out.startswith("1 agreements, 1 outcomes; left out: 0"), told.err
    assert jeeves.run("outcome", "--export", str(target), "--repo", str(project)).status == 2
    other = repository(tmp_path / "other" / "project")
    elsewhere = Program(tmp_path / "elsewhere")
    told = elsewhere.run("outcome", "--import", str(target), "--repo", str(other))
    assert told.out.startswith("1 agreements, 1 outcomes"), told.err
    assert (other / FILE).read_bytes() == (project / FILE).read_bytes()
    assert "everything is allowed already" in elsewhere.run("allow", "--repo", str(other)).out
    again = elsewhere.run("outcome", "--import", str(target), "--repo", str(other))
    assert again.out.startswith("1 agreements, 0 outcomes; left out: 1")
    assert git(other, "status", "--porcelain") == ""


HOSTILE = [
    "",
    "[]",
    '{"version": 2}',
    '{"version": 1, "agreements": [{"version": 1, "query": "q", "symbols": ["../x"]}]}',
    '{"version": 1, "outcomes": [{"session_id": "../x", "verdict": "success", "reason": "", "at_ms": 1, "query": ""}]}',
    '{"version": 1, "more": 1}',
]


@pytest.mark.parametrize("content", HOSTILE)
def test_a_file_that_is_not_of_this_kind_adds_nothing(jeeves: Program, project: Path, content: str) -> None:
    source = project.parent / "carried.json"
    source.write_text(content)
    refused = jeeves.run("outcome", "--import", str(source), "--repo", str(project))
    assert (refused.status, "is no file of" in refused.err) == (2, True)
    assert not (project / ".code-intel").exists()


@pytest.mark.parametrize(
    "words", [[], ["c-1"], ["c-1", "success", "--export", "x"], ["--export", "x", "--import", "y"]]
)
def test_the_command_says_what_it_takes(jeeves: Program, words: list[str]) -> None:
    refused = jeeves.run("outcome", *words)
    assert (refused.status, "--export FILE" in refused.err) == (2, True)
