"""Evidence is read in the ways in which editors, terminals and forges write a place, and kept in one."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.capabilities.code_change.evidence.written_places import MAX_PLACE_CHARS, plain_place, with_plain_places
from tests.capabilities.code_change.played_agent import CHANGED, Agent, repository

WRITTEN = [
    ("./load.py:5", "load.py:5"),
    ("././docs//load.py:5", "docs/load.py:5"),
    ("load.py#L5", "load.py:5"),
    ("load.py#L5-L9", "load.py:5-9"),
    ("load.py#L5-9", "load.py:5-9"),
    ("load.py:L5-L9", "load.py:5-9"),
    ("load.py:5\u20139", "load.py:5-9"),
    ("load.py:5 \u2014 9", "load.py:5-9"),
    ("load.py:5 - 9", "load.py:5-9"),
    ("docs\\load.py:5", "docs/load.py:5"),
    (".\\docs\\load.py#L5", "docs/load.py:5"),
    ("`load.py:5-9`", "load.py:5-9"),
    ('"load.py:5"', "load.py:5"),
    (" load.py:5\n", "load.py:5"),
    ("{root}/docs/load.py:5", "docs/load.py:5"),
    ("{root}//docs/./load.py#L5", "docs/load.py:5"),
    ("deleted: ./load.py", "deleted: load.py"),
    ("deleted:docs\\load.py", "deleted: docs/load.py"),
    ("deleted: {root}/load.py", "deleted: load.py"),
    # What leads elsewhere, or is no place, stays as it is and is refused.
    ("../load.py:5", "../load.py:5"),
    ("..\\load.py:5", "../load.py:5"),
    ("{root}/../load.py:5", "../load.py:5"),
    ("{root}:5", "{root}:5"),
    ("{root}er/load.py:5", "{root}er/load.py:5"),
    ("/etc/passwd:1", "/etc/passwd:1"),
    ("C:\\project\\load.py:5", "C:/project/load.py:5"),
    ("load.py", "load.py"),
    ("load.py:", "load.py:"),
    ("load.py:5\u20139\u201312", "load.py:5\u20139\u201312"),
    ("load.py:5; rm -rf", "load.py:5; rm -rf"),
    ("load.py:5\0", "load.py:5\0"),
    ("./:5", ".:5"),
    ("/:5", "/:5"),
    ("", ""),
    ("`", "`"),
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return repository(tmp_path / "project")


@pytest.mark.parametrize(("written", "plain"), WRITTEN)
def test_a_place_is_read_however_it_is_written_where_it_can_mean_one_alone(
    root: Path, written: str, plain: str
) -> None:
    assert plain_place(written.replace("{root}", str(root)), root) == plain.replace("{root}", str(root))


def test_a_name_that_is_there_is_taken_as_it_is_written(root: Path) -> None:
    (root / "docs\\load.py").write_text("x = 1\n")
    assert plain_place("docs\\load.py:1", root) == "docs\\load.py:1"
    (root / "load.py#L5").write_text("x = 1\n")
    assert plain_place("load.py#L5:1", root) == "load.py#L5:1"


def test_a_workspace_is_known_by_the_path_that_it_really_has(root: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(root)
    assert plain_place(f"{root}/load.py:5", link) == "load.py:5"
    assert plain_place(f"{link}/load.py:5", link) == "load.py:5"


@pytest.mark.parametrize("length", [MAX_PLACE_CHARS, MAX_PLACE_CHARS + 1])
def test_a_text_that_is_too_long_for_a_place_stays_as_it_is(root: Path, length: int) -> None:
    written = "./" + "a" * (length - 4) + ":5"
    assert (plain_place(written, root) == written[2:]) is (length == MAX_PLACE_CHARS)


@pytest.mark.parametrize("payload", [None, [], "x", {}, {"checklist": 3}, {"checklist": [3, {"evidence": 5}, {}]}])
def test_what_is_no_checklist_stays_as_it_is(root: Path, payload: object) -> None:
    assert with_plain_places(payload, root) == payload


@pytest.mark.parametrize(
    "evidence", ["./load.py:5", "load.py#L5-L9", "load.py:5\u20139", "{root}/load.py:5-9", ".\\load.py:5"]
)
async def test_evidence_written_as_an_editor_does_is_accepted_and_kept_plain(tmp_path: Path, evidence: str) -> None:
    agent = Agent(repository(tmp_path / "project"), tmp_path / "state")
    await agent.start()
    await agent.go_to(13)
    assert (await agent.session.check_write_target("load.py"))["permitted"]
    agent.edit(text=CHANGED)
    item = {"item": "retry loop", "status": "done", "evidence": evidence.replace("{root}", str(agent.workspace))}
    payload = {"task_id": "t1", "checklist": [item], "tools_used": ["check_write_target"], "summary": "done"}
    assert "error" not in await agent.submit(payload)
    assert agent.session.state.tasks[0].checklist[0].evidence in {"load.py:5", "load.py:5-9"}


@pytest.mark.parametrize(
    ("evidence", "reason"),
    [
        ("{root}/../secret.py:1", "must be a path from the top"),
        ("./link/secret.py:1", "leads through the link"),
        ("{root}/link/secret.py:1", "leads through the link"),
        ("./.git/config:1", "lies in git's own folder"),
        ("/etc/passwd:1", "must be a path from the top"),
        ("./load.py#L5; rm", "is no place"),
    ],
)
async def test_a_place_outside_is_refused_however_it_is_written(tmp_path: Path, evidence: str, reason: str) -> None:
    agent = Agent(repository(tmp_path / "project"), tmp_path / "state")
    await agent.start()
    await agent.go_to(13)
    payload = dict(await agent.prepare())
    (tmp_path / "secret.py").write_text("x = 1\n")
    (agent.workspace / "link").symlink_to(tmp_path)
    written = evidence.replace("{root}", str(agent.workspace))
    payload["checklist"] = [{**payload["checklist"][0], "evidence": written}]
    assert reason in (await agent.submit(payload))["error"]["problems"][0]


async def test_a_file_to_be_written_is_still_named_exactly(tmp_path: Path) -> None:
    agent = Agent(repository(tmp_path / "project"), tmp_path / "state")
    await agent.start()
    await agent.go_to(13)
    for written in ("./load.py", f"{agent.workspace}/load.py", ".\\load.py"):
        assert not (await agent.session.check_write_target(written))["permitted"]
