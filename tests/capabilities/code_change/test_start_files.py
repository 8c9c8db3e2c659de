"""What stood when a session began is accounted for by its impact analysis, also where it was taken away meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.capabilities.code_change.session import start_files
from tests.capabilities.code_change.played_agent import Agent, git, repository
from tests.runtime.contracts.session_player import Player

TEST = "from load import load\n\n\ndef test_load():\n    assert load('a') == 'b'\n"


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    root = repository(tmp_path / "project")
    (root / "tests").mkdir()
    (root / "tests" / "test_load.py").write_text(TEST)
    (root / "tests" / "test_net.py").write_text("import net\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "tests")
    return Agent(root, tmp_path / "state")


async def analysed(agent: Agent, *targets: str) -> dict[str, str]:
    payload = {**await agent.prepare(), "needs_impact_analysis": True}
    await agent.submit(payload)
    assert agent.last["step"] == 11
    return dict(await agent.session.record("analyze_impact", targets or ("load",), must_verify=["load.py"]))


async def test_a_test_that_was_moved_away_must_be_verified_all_the_same(agent: Agent, tmp_path: Path) -> None:
    await agent.start()
    await agent.go_to(10)
    (agent.root / "tests").rename(tmp_path / "elsewhere")
    told = await analysed(agent)
    assert told == {"tests/test_load.py": "named load when the session began, and is gone since"}
    assert agent.session.state.must_verify == ("load.py", "tests/test_load.py")
    rows = [{"file": "load.py", "finding": "it retries"}]
    payload = {"impact_summary": rows, "tools_used": ["analyze_impact"], "summary": "one file"}
    await agent.submit(payload)
    assert "says nothing of tests/test_load.py" in str(agent.last["error"])
    (tmp_path / "elsewhere").rename(agent.root / "tests")
    rows.append({"file": "tests/test_load.py", "finding": "it still passes"})
    await agent.submit(payload)
    assert agent.last["step"] == 12


async def test_a_test_that_no_longer_names_the_symbol_must_be_verified(agent: Agent) -> None:
    await agent.start()
    await agent.go_to(10)
    (agent.root / "tests" / "test_load.py").write_text("pass\n")
    assert await analysed(agent) == {"tests/test_load.py": "named load when the session began, and is changed since"}


async def test_of_a_file_that_is_analysed_its_module_is_looked_for(agent: Agent) -> None:
    await agent.start()
    await agent.go_to(10)
    (agent.root / "tests" / "test_net.py").unlink()
    assert list(await analysed(agent, "net.py")) == ["tests/test_net.py"]


async def test_what_is_committed_meanwhile_hides_nothing(agent: Agent) -> None:
    await agent.start()
    await agent.go_to(10)
    git(agent.root, "rm", "-q", "tests/test_load.py")
    git(agent.root, "commit", "-qm", "gone")
    assert list(await analysed(agent)) == ["tests/test_load.py"]


@pytest.mark.parametrize("is_gone", [False, True])
async def test_what_was_not_committed_at_the_start_is_known_by_its_content(agent: Agent, is_gone: bool) -> None:
    (agent.root / "tests" / "test_new.py").write_text(TEST)
    (agent.root / "tests" / "test_load.py").write_text(f"{TEST}\n# mine\n")
    await agent.start()
    await agent.go_to(10)
    if is_gone:
        (agent.root / "tests" / "test_new.py").unlink()
    else:
        (agent.root / "tests" / "test_new.py").write_text("pass\n")
    how = "gone" if is_gone else "changed"
    why = f"was not committed when the session began, and is {how} since"
    assert await analysed(agent) == {"tests/test_new.py": why}


async def test_what_stands_as_it_stood_and_what_is_new_adds_nothing(agent: Agent) -> None:
    (agent.root / "tests" / "test_mine.py").write_text(TEST)
    (agent.root / "tests" / "test_load.py").write_text("pass\n")
    await agent.start()
    await agent.go_to(10)
    (agent.root / "later.py").write_text("from load import load\n")
    (agent.root / "tests" / "test_net.py").write_text("import net as other\n")
    assert await analysed(agent) == {}


async def test_edits_after_the_plan_are_the_change_and_add_nothing(agent: Agent) -> None:
    await agent.start()
    await agent.go_to(13)
    agent.edit()
    assert await agent.session.record("analyze_impact", ["load"]) == {}


@pytest.mark.parametrize(("more", "added"), [(-1, 39), (0, 40), (1, 40)])
async def test_so_many_files_are_added_at_most(agent: Agent, more: int, added: int) -> None:
    names = [f"tests/test_{number}.py" for number in range(start_files.MAX_ADDED + more)]
    for name in names:
        (agent.root / name).write_text(TEST)
    await agent.start()
    await agent.go_to(10)
    for name in names:
        (agent.root / name).unlink()
    assert len(await analysed(agent)) == added


@pytest.mark.parametrize("more", [-1, 0, 1])
async def test_what_is_too_much_to_be_carried_along_is_known_all_the_same(agent: Agent, more: int) -> None:
    names = [f"tests/many_{number:04}.py" for number in range(start_files.MAX_PINNED + more)]
    for name in names:
        (agent.root / name).write_text(TEST)
    await agent.start()
    assert len(agent.session.state.uncommitted) == min(len(names), start_files.MAX_PINNED)
    assert len(agent.ports.store.start_files(agent.session.state.session_id)) == max(more, 0)
    await agent.go_to(10)
    (agent.root / names[-1]).write_text("pass\n")
    assert await analysed(agent) == {names[-1]: "was not committed when the session began, and is changed since"}


def test_what_is_known_once_leaves_the_store_with_its_session(agent: Agent) -> None:
    store, state = agent.ports.store, Player().state.with_(session_id="c-1")
    store.create(state, "owner", "", {"mine.py": "digest"})
    assert store.start_files("c-1") == {"mine.py": "digest"}
    assert store.start_files("c-2") == {}
    store.end("c-1", "discarded", "discarded", {})
    assert store.drop_unused(agent.clock.now_ms() + 1) == 1
    assert store.start_files("c-1") == {}
