"""What is committed and merged are the files that the contract's commands have passed on."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.contracts.contract import Contract
from runtime.contracts.loading import parse_contract
from tests.capabilities.code_change.played_agent import CHANGED, Agent, git, repository
from tests.examples import long_but
from tests.runtime.contracts.test_loading import SHIPPED

BROKEN = f"{CHANGED}\n\nBROKEN = 1 / 0\n"
SOUND = "! grep -q BROKEN load.py"


def contract(command: str = SOUND, duty: str = "verify") -> Contract:
    named = f"    duty: {duty}\n    checks: [{{name: tests, command: [sh, -c, '{command}']}}]\n"
    return parse_contract(SHIPPED.replace(f"    duty: {duty}\n", named))


def player(tmp_path: Path, checks: Contract) -> Agent:
    return Agent(repository(tmp_path / "project"), tmp_path / "state", checks)


def counting(tmp_path: Path) -> str:
    """Return a command that counts its runs in a file that git does not see."""
    return f"echo run >> {tmp_path}/runs; {SOUND}"


def runs(tmp_path: Path) -> int:
    file = tmp_path / "runs"
    return len(file.read_text().splitlines()) if file.exists() else 0


async def test_files_that_were_edited_after_the_checks_are_checked_again_before_the_commit(tmp_path: Path) -> None:
    agent = player(tmp_path, contract())
    await agent.start()
    await agent.go_to(17)
    agent.edit(text=BROKEN)
    told = await agent.step()
    assert (told["phase"], told["step"]) == ("READY", 12)
    assert "check 'tests' fails on what would be committed" in told["instruction"]
    assert agent.session.state.tasks[0].failure_count == 1
    assert "BROKEN" not in git(agent.root, "log", "--all", "-p")


async def test_files_that_stay_as_the_checks_saw_them_are_not_checked_again(tmp_path: Path) -> None:
    agent = player(tmp_path, contract(counting(tmp_path)))
    await agent.start()
    assert (await agent.finish())["outcome"] == "completed"
    assert runs(tmp_path) == 1


async def test_a_sound_edit_after_the_checks_is_checked_and_committed(tmp_path: Path) -> None:
    agent = player(tmp_path, contract(counting(tmp_path)))
    await agent.start()
    await agent.go_to(17)
    agent.edit(text=CHANGED + "\n\nMORE = 1\n")
    told = await agent.step()
    assert any("the operator's checks passed on what is there now: tests" in note for note in told["notes"])
    await agent.finish()
    assert runs(tmp_path) == 2
    assert "MORE" in git(agent.root, "show", "main:load.py")


async def test_commits_that_were_made_after_the_review_are_checked_before_the_merge(tmp_path: Path) -> None:
    agent = player(tmp_path, contract())
    await agent.start(flags=["no_quality"])
    await agent.go_to(19)
    agent.edit(text=BROKEN)
    git(agent.workspace, "commit", "-qam", "on top")
    assert (await agent.step())["step"] == 12
    assert "BROKEN" not in git(agent.root, "show", "main:load.py")


@pytest.mark.parametrize("step", long_but([18, 19], 1))
async def test_checks_do_not_judge_files_that_are_not_what_is_merged(tmp_path: Path, step: int) -> None:
    agent = player(tmp_path, contract(duty="quality" if step == 18 else "verify"))
    await agent.start()
    await agent.go_to(step)
    if step == 19:
        agent.edit(text=BROKEN)
        git(agent.workspace, "commit", "-qam", "on top")
        agent.session.state.checked.clear()
    agent.edit()
    (agent.workspace / "load.py").write_text(CHANGED + "# sound again, and not committed\n")
    told = await agent.step()
    if step == 18:
        assert "load.py differ from what is committed" in told["error"]["problems"][0]
    else:
        assert told["phase"] == "QUALITY_REVIEW"
        assert "load.py differ from what is committed" in (await agent.step())["error"]["problems"][0]


async def test_a_check_that_changes_files_judges_none_of_them(tmp_path: Path) -> None:
    agent = player(tmp_path, contract("echo >> load.py"))
    await agent.start()
    await agent.go_to(15)
    told = await agent.step()
    assert told["step"] == 17
    assert any("files changed while the checks ran" in note for note in told["notes"])
    assert "files changed while the checks ran" in (await agent.step())["error"]["problems"][0]


@pytest.mark.long
async def test_with_checks_nothing_is_merged_into_a_branch_that_moved_until_both_were_checked(tmp_path: Path) -> None:
    agent = player(tmp_path, contract(counting(tmp_path)))
    await agent.start()
    await agent.go_to(19)
    beside = tmp_path / "beside"
    git(agent.root, "worktree", "add", "-q", str(beside), "main")
    (beside / "cache.py").write_text("KEPT = {1: 2}\n")
    git(beside, "commit", "-qam", "moved on")
    git(agent.root, "worktree", "remove", str(beside))
    told = await agent.step()
    assert "main has moved on, and the checks of the contract have not run on both" in told["error"]["problems"][0]
    git(agent.workspace, "merge", "-q", "--no-edit", "main")
    await agent.finish()
    assert runs(tmp_path) == 2
    assert git(agent.root, "status", "--porcelain") == ""
    assert (agent.root / "cache.py").read_text() == "KEPT = {1: 2}\n"


async def test_the_failing_tests_at_the_end_of_a_long_output_are_told(tmp_path: Path) -> None:
    agent = player(tmp_path, contract("seq 3000; echo FAILED tests/test_a.py::test_b; exit 1"))
    await agent.start()
    await agent.go_to(15)
    problem = (await agent.step())["error"]["problems"][0]
    assert problem.endswith("FAILED tests/test_a.py::test_b\n")
    assert 2_900 < len(problem) < 3_200


FLAGS = [
    (["no_verify"], "verify"),
    (["fast", "no_verify", "no_quality", "no_doc_research"], "verify"),
    (["no_quality"], "quality"),
    (["fast"], "quality"),
    (["no_verify", "no_intervention"], "verify"),
]


@pytest.mark.long
@pytest.mark.parametrize(("flags", "duty"), FLAGS)
async def test_flags_do_not_switch_the_operators_checks_off(tmp_path: Path, flags: list[str], duty: str) -> None:
    agent = player(tmp_path, contract("false", duty))
    before = git(agent.root, "rev-parse", "main")
    started = await agent.start(flags=flags)
    assert any("its checks (tests) are run all the same" in note for note in started["notes"])
    await see_without_exploration(agent, flags)
    for _ in range(16):
        await agent.step()
        assert agent.last["phase"] != "SESSION_COMPLETE"
        if agent.last.get("step") == 12 and agent.session.state.verify_failures:
            break
    assert agent.session.state.verify_failures == 1, agent.last
    assert git(agent.root, "rev-parse", "main") == before


async def test_without_branch_and_verification_the_checks_run_before_the_end(tmp_path: Path) -> None:
    agent = player(tmp_path, contract("false"))
    await agent.start(flags=["quick", "no_verify"])
    await see_without_exploration(agent, ["quick"])
    await agent.go_to(14)
    assert "check 'tests' fails" in (await agent.step())["error"]["problems"][0]


@pytest.mark.long
async def test_checks_that_keep_failing_before_the_commit_ask_a_person(tmp_path: Path) -> None:
    agent = player(tmp_path, contract("false"))
    await agent.start(flags=["no_verify"])
    for number in range(3):
        await agent.go_to(17)
        await agent.step()
        if number < 2:
            old = [{**task, "status": "completed"} for task in agent.last["tasks"]]
            item = {"item": "again", "status": "pending"}
            fix = {"id": f"f{number}", "description": "fix", "status": "pending", "checklist": [item]}
            fix |= {"fixes": old[-1]["id"], "revert_reason": "the check fails"}
            await agent.submit({"tasks": [*old, fix], "tools_used": [], "summary": "a fix"})
            assert "error" not in agent.last, agent.last
    assert agent.last["phase"] == "USER_ESCALATION"


async def see_without_exploration(agent: Agent, flags: list[str]) -> None:
    if "fast" in flags or "quick" in flags:
        await agent.see("read_code", "load.py")


def swapping(tmp_path: Path, file: str, sound: str) -> str:
    """Return a check that passes on a sound file which it finds in the place of another while it runs."""
    (tmp_path / "sound").write_text(sound)
    away, back = f"mv {file} {tmp_path}/away; cp {tmp_path}/sound {file}", f"mv {tmp_path}/away {file}"
    return f"{away}; {SOUND}; passed=$?; {back}; exit $passed"


@pytest.mark.parametrize("duty", long_but(["verify", "quality"], 0))
async def test_a_file_that_another_one_stood_for_while_the_checks_ran_is_told_to_the_end(
    tmp_path: Path, duty: str
) -> None:
    agent = player(tmp_path, contract(swapping(tmp_path, "load.py", CHANGED), duty))
    await agent.start()
    await agent.go_to(13)
    agent.edit(text=BROKEN)
    payload = await agent.prepare()
    agent.edit(text=BROKEN)
    await agent.submit(payload)
    told = await agent.finish()
    doubts = [warning for warning in told["warnings"] if "written while the operator's checks ran" in warning]
    assert len(doubts) == 1
    assert "load.py; what the checks passed on need not be what is there" in doubts[0]


async def test_a_file_that_the_change_leaves_alone_may_not_stand_for_another_one_either(tmp_path: Path) -> None:
    agent = player(tmp_path, contract(swapping(tmp_path, "net.py", "def fetch(url):\n    return url\n")))
    await agent.start()
    told = await agent.finish()
    assert any("net.py; what the checks passed on" in warning for warning in told["warnings"])


async def test_checks_on_files_that_somebody_wrote_meanwhile_are_run_again_before_the_commit(tmp_path: Path) -> None:
    touched = f"test -e {tmp_path}/runs || touch net.py; echo run >> {tmp_path}/runs; {SOUND}"
    agent = player(tmp_path, contract(touched))
    await agent.start()
    await agent.finish()
    assert runs(tmp_path) == 2


async def test_a_check_that_writes_nothing_leaves_no_doubt(tmp_path: Path) -> None:
    agent = player(tmp_path, contract(f"mkdir -p made; cat *.py > /dev/null; rmdir made; {SOUND}"))
    await agent.start()
    assert "warnings" not in await agent.finish()


async def test_files_of_another_branch_are_not_told_as_edits(tmp_path: Path) -> None:
    agent = player(tmp_path, contract(counting(tmp_path), "quality"))
    await agent.start()
    await agent.go_to(18)
    git(agent.workspace, "switch", "-q", "main")
    told = str((await agent.step())["error"]["problems"])
    assert f"is on main, not on {agent.last['branch']}: `git switch {agent.last['branch']}` there" in told
    git(agent.workspace, "switch", "-q", agent.last["branch"])
    assert (await agent.finish())["outcome"] == "completed"


async def test_a_new_file_of_a_change_without_a_branch_may_not_be_another_one_while_the_checks_run(
    tmp_path: Path,
) -> None:
    agent = player(tmp_path, contract(swapping(tmp_path, "more.py", "MORE = 1\n")))
    await agent.start(flags=["quick"])
    await agent.see("read_code", "load.py")
    await agent.go_to(13)
    await agent.session.check_write_target("more.py")
    agent.edit("more.py", "MORE = 0\n")
    told = await agent.finish()
    assert any("more.py; what the checks passed on" in warning for warning in told["warnings"])


@pytest.mark.parametrize("stand_in", long_but(["cp -r {sound} checked", "ln -s {sound} checked"], 0))
async def test_a_folder_that_another_one_stood_for_while_the_checks_ran_is_told_to_the_end(
    tmp_path: Path, stand_in: str
) -> None:
    root = repository(tmp_path / "project")
    (root / "checked").mkdir()
    (root / "checked" / "test_load.py").write_text("BROKEN = 1\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "a failing test")
    sound = tmp_path / "sound"
    sound.mkdir()
    (sound / "test_load.py").write_text("pass\n")
    away, back = (
        f"mv checked {tmp_path}/away; {stand_in.format(sound=sound)}",
        f"rm -r checked; mv {tmp_path}/away checked",
    )
    agent = Agent(
        root, tmp_path / "state", contract(f"{away}; ! grep -q BROKEN checked/*.py; passed=$?; {back}; exit $passed")
    )
    await agent.start()
    told = await agent.finish()
    assert any("checked/; what the checks passed on need not be" in warning for warning in told["warnings"])


async def test_a_folder_in_which_a_check_leaves_a_cache_raises_no_doubt(tmp_path: Path) -> None:
    caching = f"mkdir docs/made; touch docs/made/a; {SOUND}; passed=$?; rm -r docs/made; exit $passed"
    agent = player(tmp_path, contract(caching))
    await agent.start()
    assert "warnings" not in await agent.finish()


@pytest.mark.long
async def test_a_check_that_takes_too_long_is_killed_with_all_that_it_started(tmp_path: Path) -> None:
    command = f"sleep 600 & echo $! > {tmp_path}/started; wait"
    slow = parse_contract(
        SHIPPED.replace(
            "    duty: verify\n",
            "    duty: verify\n    checks:\n      - name: tests\n        command:\n          - sh\n          - -c\n"
            f'          - "{command}"\n        timeout_s: 1\n',
        )
    )
    agent = player(tmp_path, slow)
    await agent.start()
    await agent.go_to(15)
    told = await agent.step()
    assert told["step"] == 15
    assert "it took longer than 1 s and was killed" in told["error"]["problems"][0]
    started = Path("/proc") / (tmp_path / "started").read_text().strip() / "stat"
    assert not started.exists() or b") Z " in started.read_bytes()
    assert (await agent.step(passed=False, details="too slow"))["step"] == 12
