"""Files that decide what the tools see stay as they were when the session began, or the tools do not count."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.capabilities.code_change.session.steering import steered
from runtime.codebase.files.project_config import CONFIG_FILE
from tests.capabilities.code_change.played_agent import Agent, git, repository

FILES = [(CONFIG_FILE, '{"exclude_patterns": ["tests/**"]}'), (".gitignore", "net.py\n")]


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return Agent(repository(tmp_path / "project"), tmp_path / "state")


@pytest.mark.parametrize(("file", "text"), FILES)
async def test_tools_do_not_look_while_a_file_that_steers_them_differs(agent: Agent, file: str, text: str) -> None:
    await agent.start()
    await agent.go_to(5)
    assert await agent.session.steering_refusal("find_references") is None
    agent.edit(file, text)
    told = await agent.session.steering_refusal("find_references")
    assert told is not None
    problem = told["error"]["problems"][0]
    assert f"{file} was changed since this session began, which decides what its tools see; put it back" in problem
    assert f"jeeves runs cancel {agent.session.state.session_id}" in problem
    assert await agent.session.steering_refusal("get_session_status") is None
    (agent.root / file).unlink()
    assert await agent.session.steering_refusal("find_references") is None


@pytest.mark.parametrize(("file", "text"), FILES)
async def test_what_a_steered_tool_showed_is_no_exploration_and_the_person_is_told(
    agent: Agent, file: str, text: str
) -> None:
    await agent.start()
    await agent.go_to(5)
    agent.edit(file, text)
    payload = await agent.prepare()
    told = await agent.submit(payload)
    assert "this server saw 0 that showed something" in str(told["error"])
    assert f"{file} was changed since this session began" in str(told["notes"])
    (agent.root / file).unlink()
    assert (await agent.finish())["outcome"] == "completed"
    assert f"{file} was changed since this session began" in str(agent.last["warnings"])


async def test_files_to_be_verified_are_not_taken_from_a_steered_analysis(agent: Agent) -> None:
    await agent.start()
    await agent.go_to(5)
    agent.edit(*FILES[0])
    await agent.session.record("analyze_impact", ["load.py"], must_verify=["net.py"])
    assert agent.session.state.must_verify == ()
    assert agent.session.state.uses[-1].refused


async def test_an_ignore_file_may_be_part_of_the_change(agent: Agent) -> None:
    await agent.start()
    await agent.go_to(13)
    agent.edit(".gitignore", "*.log\n")
    assert await agent.session.steering_refusal("find_references") is None


@pytest.mark.parametrize("is_there", [False, True])
async def test_an_ignore_file_of_a_folder_is_pinned_too_and_a_new_one_beside_known_files_steers(
    agent: Agent, is_there: bool
) -> None:
    (agent.root / "docs/deep").mkdir()
    (agent.root / "docs/deep/more.py").write_text("MORE = 1\n")
    if is_there:
        (agent.root / "docs/deep/.gitignore").write_text("*.log\n")
    git(agent.root, "add", "-A")
    git(agent.root, "commit", "-qm", "more")
    await agent.start()
    await agent.go_to(5)
    assert await agent.session.steering_refusal("find_references") is None
    # It ignores itself as well, so that git does not list it.
    agent.edit("docs/deep/.gitignore", "*\n")
    told = await agent.session.steering_refusal("find_references")
    assert "docs/deep/.gitignore was changed since this session began" in str(told)
    await agent.session.record("analyze_impact", ["load.py"], must_verify=["net.py"])
    assert agent.session.state.must_verify == ()


async def test_an_ignore_file_that_a_cache_or_a_build_makes_in_its_own_folder_steers_nothing(agent: Agent) -> None:
    await agent.start()
    await agent.go_to(5)
    for file in ("made/.gitignore", "docs/out/.gitignore", ".pytest_cache/.gitignore"):
        agent.edit(file, "*\n")
    assert await agent.session.steering_refusal("find_references") is None
    assert (await agent.finish())["outcome"] == "completed"


async def test_an_ignore_file_of_a_folder_may_be_part_of_the_change(agent: Agent) -> None:
    await agent.start()
    await agent.go_to(13)
    agent.edit("docs/.gitignore", "*.log\n")
    assert await agent.session.steering_refusal("find_references") is None


@pytest.mark.parametrize("is_there", [False, True])
async def test_what_stands_as_it_stood_steers_nothing(agent: Agent, is_there: bool) -> None:
    if is_there:
        agent_config = agent.root / CONFIG_FILE
        agent_config.parent.mkdir()
        agent_config.write_text("{}")
        git(agent.root, "add", "-A")
        git(agent.root, "commit", "-qm", "config")
    await agent.start()
    assert steered(agent.session.state) == ()
    if is_there:
        agent_config.unlink()
        assert steered(agent.session.state) == (CONFIG_FILE,)


async def test_a_session_of_an_earlier_version_has_pinned_nothing(agent: Agent) -> None:
    await agent.start()
    state = agent.session.state.with_(steering={})
    agent.edit(*FILES[0])
    assert steered(state) == ()
