"""Many sessions in one host: what is in memory, what comes back from the store, and who may drive which."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import msgspec
import pytest

from actors.capabilities.code_change.session import calls
from actors.capabilities.code_change.session.session_host import MemoryLimits
from runtime.contracts.loading import parse_contract
from runtime.errors import FencedError, UnknownNameError
from tests.capabilities.code_change.host_site import Driver, HostSite
from tests.capabilities.code_change.played_agent import CHANGED, git, repository
from tests.runtime.contracts.test_loading import SHIPPED

WAITS = "touch began; until [ -e go ]; do sleep 0.05; done"
SLOW = f"    duty: verify\n    checks: [{{name: tests, command: [sh, -c, '{WAITS}']}}]\n"


async def test_a_change_is_made_by_calls_alone(tmp_path: Path) -> None:
    driver = Driver(HostSite(tmp_path / "state"), repository(tmp_path / "project"))
    await driver.start()
    assert (await driver.finish())["outcome"] == "completed"
    assert (driver.root / "load.py").read_text() == CHANGED


@pytest.mark.parametrize(("opened", "in_memory"), [(2, 2), (3, 3), (4, 3)])
async def test_no_more_sessions_than_the_limit_are_in_memory(tmp_path: Path, opened: int, in_memory: int) -> None:
    site = HostSite(tmp_path / "state", limits=MemoryLimits(sessions=3))
    drivers = [Driver(site, repository(tmp_path / f"p{number}")) for number in range(opened)]
    for driver in drivers:
        await driver.start()
    assert site.host.in_memory == in_memory
    for driver in drivers:
        await driver.go_to(6)
    assert site.host.in_memory == in_memory


@pytest.mark.parametrize(("idle_s", "in_memory"), [(599.9, 1), (600.0, 0), (601.0, 0)])
async def test_a_session_that_idles_leaves_memory_though_nobody_calls_and_comes_back_with_its_next_call(
    tmp_path: Path, idle_s: float, in_memory: int
) -> None:
    site = HostSite(tmp_path / "state", limits=MemoryLimits(idle_s=600))
    driver = Driver(site, repository(tmp_path / "project"))
    await driver.start()
    await driver.go_to(5)
    await site.clock.advance(idle_s)  # type: ignore[attr-defined]
    assert site.host.in_memory == in_memory
    began_s = time.monotonic()
    assert (await driver.status())["step"] == 5
    assert time.monotonic() - began_s < 0.3
    await driver.finish()
    assert (driver.root / "load.py").read_text() == CHANGED


async def test_a_session_under_way_stays_in_memory_whatever_the_limit(tmp_path: Path) -> None:
    site = HostSite(tmp_path / "state", parse_contract(SHIPPED.replace("    duty: verify\n", SLOW)), MemoryLimits(1))
    busy, other = (Driver(site, repository(tmp_path / name)) for name in ("busy", "other"))
    await busy.start()
    await busy.go_to(15)
    verifying = asyncio.create_task(busy.step())
    await began(busy.root)
    await other.start()
    await other.go_to(5)
    (busy.root / "go").touch()
    assert (await verifying)["step"] == 17


async def began(root: Path) -> None:
    deadline_s = time.monotonic() + 30
    while not (root / "began").exists():
        assert time.monotonic() < deadline_s
        await asyncio.sleep(0.01)


@pytest.mark.long
async def test_slow_checks_of_many_sessions_hold_up_no_other(tmp_path: Path) -> None:
    site = HostSite(tmp_path / "state", parse_contract(SHIPPED.replace("    duty: verify\n", SLOW)))
    # More than the threads that the event loop's own pool has on two cores.
    slow = [Driver(site, repository(tmp_path / f"slow{number}")) for number in range(8)]
    verifying = []
    for driver in slow:
        await driver.start(flags=("quick", "no_doc_research"))
        await driver.go_to(15)
        verifying.append(asyncio.create_task(driver.step()))
        await began(driver.root)
    quick = Driver(site, repository(tmp_path / "quick"))
    await asyncio.wait_for(quick.start(), 30)
    await asyncio.wait_for(quick.go_to(15), 30)
    assert not any(task.done() for task in verifying)
    for driver in slow:
        (driver.root / "go").touch()
    await asyncio.gather(*verifying)


async def test_another_client_of_the_server_takes_a_session_over_only_by_resuming_it_and_the_first_is_told(
    tmp_path: Path,
) -> None:
    site = HostSite(tmp_path / "state", alive=["server"])
    root = repository(tmp_path / "project")
    first, second = Driver(site, root, "server.one"), Driver(site, root, "server.two")
    await first.start()
    await first.go_to(5)
    refused = await second.start()
    assert refused["error"]["code"] == "session_live"
    assert "`recovery`: resume takes it over" in refused["error"]["problems"][0]
    with pytest.raises(FencedError, match="taken over by another client"):
        await second.status()
    second.last = {}
    assert (await second.start(recovery="resume"))["step"] == 5
    for call in (first.status(), first.submit({}), first.see("read_code", "load.py")):
        with pytest.raises(FencedError, match="taken over by another client"):
            await call
    await second.finish()
    assert (root / "load.py").read_text() == CHANGED


async def test_clients_of_another_server_cannot_take_over_a_live_session(tmp_path: Path) -> None:
    site = HostSite(tmp_path / "state", alive=["server", "other"])
    root = repository(tmp_path / "project")
    await Driver(site, root, "server.one").start()
    stranger = Driver(site, root, "other.one")
    assert (await stranger.start(recovery="resume"))["error"]["code"] == "session_live"


async def test_calls_of_one_session_at_once_are_judged_one_after_the_other(tmp_path: Path) -> None:
    site = HostSite(tmp_path / "state")
    driver = Driver(site, repository(tmp_path / "project"))
    await driver.start()
    await driver.go_to(6)
    answers = await asyncio.gather(
        *(driver.submit({"needs_more_information": False, "reason": "no"}) for _ in range(4))
    )
    steps = [answer["step"] for answer in answers]
    assert steps == [8, 8, 8, 8]
    assert [("error" in answer) for answer in answers] == [False, True, True, True]
    rows = site.store.decisions(driver.session_id)
    assert [row.seq for row in rows] == list(range(1, len(rows) + 1))


async def test_a_submission_that_was_kept_is_taken_once_though_it_is_sent_again(tmp_path: Path) -> None:
    driver = Driver(HostSite(tmp_path / "state"), repository(tmp_path / "project"))
    await driver.start()
    await driver.go_to(6)
    payload = {"needs_more_information": False, "reason": "no"}
    first = await driver.submit(payload, key="k1")
    again = await Driver.submit(driver, payload, key="k1")
    assert ("error" in again, again["step"], again["instruction"]) == (False, 8, first["instruction"])


async def test_a_caller_that_gives_up_does_not_leave_a_phase_half_done(tmp_path: Path) -> None:
    site = HostSite(tmp_path / "state", parse_contract(SHIPPED.replace("    duty: verify\n", SLOW)))
    driver = Driver(site, repository(tmp_path / "project"))
    await driver.start()
    await driver.go_to(15)
    verifying = asyncio.create_task(driver.step())
    await began(driver.root)
    verifying.cancel()
    await asyncio.wait({verifying})
    (driver.root / "go").touch()
    assert (await driver.status())["step"] == 17


async def test_a_session_goes_on_under_the_contract_that_it_began_with(tmp_path: Path) -> None:
    root = repository(tmp_path / "project")
    strict = parse_contract(SHIPPED.replace("min_reason_chars: 10", "min_reason_chars: 40"))
    first = Driver(HostSite(tmp_path / "state", strict), root)
    await first.start()
    await first.go_to(13)
    # A server of another version, which ships another contract.
    again = Driver(HostSite(tmp_path / "state"), root, "another-process")
    again.last = await again.start(recovery="resume")
    item = {"item": "retry loop", "status": "skipped", "reason": "twenty characters..."}
    told = await again.submit({"task_id": "t1", "checklist": [item], "tools_used": [], "summary": "skipped"})
    assert "40" in told["error"]["problems"][0]


async def test_what_is_no_session_is_told(tmp_path: Path) -> None:
    driver = Driver(HostSite(tmp_path / "state"), tmp_path)
    driver.last = {"session_id": "c-nobody"}
    with pytest.raises(UnknownNameError, match="c-nobody"):
        await driver.status()
    found = await driver.carrier.call(calls.FindChange(driver="x", root=str(tmp_path)))
    assert found["phase"] == "NONE"


async def test_the_person_is_asked_through_the_door_and_what_was_agreed_to_is_what_is_done(tmp_path: Path) -> None:
    root = repository(tmp_path / "project")
    git(root, "branch", "llm_task_old")
    driver = Driver(HostSite(tmp_path / "state"), root)
    await driver.start()
    payload = {"choice": "delete", "tools_used": [], "summary": "old"}
    question = (await driver.submit(payload))[calls.ASKS][calls.ASKS_PERSON]
    assert question == "Delete the branches of earlier sessions: llm_task_old?"
    refused = await driver.submit(payload, supplied=calls.Supplied({question: None}))
    assert refused["error"]["code"] == "not_confirmed"
    git(root, "branch", "llm_task_later")
    told = await driver.submit(payload, supplied=calls.Supplied({question: True}))
    assert "error" not in told
    assert git(root, "branch", "--list", "llm_task_*") == "llm_task_later"


async def test_left_branches_are_cleaned_up_by_consent_alone(tmp_path: Path) -> None:
    root = repository(tmp_path / "project")
    driver = Driver(HostSite(tmp_path / "state"), root)
    clean = calls.CleanBranches(driver=driver.name, root=str(root))
    assert (await driver.carrier.call(clean))["deleted"] == []
    git(root, "branch", "llm_task_old")
    question = (await driver.carrier.call(clean))[calls.ASKS][calls.ASKS_PERSON]
    assert "llm_task_old" in question
    for said in (None, False):
        supplied = calls.Supplied({question: said})
        refused = await driver.carrier.call(msgspec.structs.replace(clean, supplied=supplied))
        assert refused["error"]["code"] == "not_confirmed"
        assert "jeeves clean" in refused["error"]["problems"][0]
        assert refused["stale"]
    assert git(root, "branch", "--list", "llm_task_old") != ""
    git(root, "branch", "llm_task_later")
    agreed = msgspec.structs.replace(clean, supplied=calls.Supplied({question: True}))
    # Another question by now: what was agreed to was another list.
    assert "llm_task_later" in (await driver.carrier.call(agreed))[calls.ASKS][calls.ASKS_PERSON]
    git(root, "branch", "-D", "llm_task_later")
    done = await driver.carrier.call(agreed)
    assert [row["branch"] for row in done["deleted"]] == ["llm_task_old"]
    git(root, *done["deleted"][0]["restore"].split()[1:])
    assert "llm_task_old" in git(root, "branch", "--list", "llm_task_old")


async def test_the_branch_of_a_session_that_can_be_resumed_is_not_cleaned_up(tmp_path: Path) -> None:
    root = repository(tmp_path / "project")
    driver = Driver(HostSite(tmp_path / "state"), root)
    await driver.start()
    await driver.go_to(13)
    clean = calls.CleanBranches(driver="another", root=str(root))
    told = await driver.carrier.call(clean)
    assert told["deleted"] == []
    assert (
        told["recoverable"] == git(root, "for-each-ref", "--format=%(refname:short)", "refs/heads/llm_task_*").split()
    )
    assert told["recoverable"]
    assert "start_session" in told["note"]


@pytest.mark.parametrize("is_in_memory", [True, False])
async def test_a_session_that_a_person_cancelled_says_so(tmp_path: Path, is_in_memory: bool) -> None:
    site = HostSite(tmp_path / "state")
    driver = Driver(site, repository(tmp_path / "project"))
    await driver.start()
    await driver.go_to(12)
    site.store.end(driver.session_id, "cancelled", "cancelled", {})
    if not is_in_memory:
        driver.carrier = HostSite(tmp_path / "state")
    told = await driver.status()
    assert (told["phase"], told["outcome"]) == ("SESSION_COMPLETE", "cancelled")
    told = await driver.submit({"tasks": [], "tools_used": [], "summary": "none"})
    assert told["error"]["code"] == "session_over"
    assert "the session is over: cancelled" in told["error"]["problems"][0]


async def test_a_session_that_was_cancelled_while_a_tool_ran_is_not_told_to_be_taken_over(tmp_path: Path) -> None:
    site = HostSite(tmp_path / "state")
    driver = Driver(site, repository(tmp_path / "project"))
    await driver.start()
    site.store.end(driver.session_id, "cancelled", "cancelled", {})
    with pytest.raises(FencedError, match="is over: cancelled; start_session begins another one"):
        await driver.see("read_code", "load.py")
