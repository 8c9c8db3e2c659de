"""What stood when a session began is accounted for by its impact analysis, also where it was taken away meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.capabilities.code_change.session import start_files
from tests.capabilities.code_change.played_agent import Agent, git, repository

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
