"""Where calls of changes go: to the warm system, and to this process once that is lost."""

from __future__ import annotations

import asyncio

import pytest

from actors.capabilities.code_change.session.calls import Answer, Call, FindChange
from runtime.errors import ClusterError, FencedError, StateStorageError
from serve.mcp.changes.change_calls import ChosenCalls

CALL = FindChange(driver="a-client", root="/project")


class Place:
    """Where sessions are held: it answers with its name, or fails as is said."""

    def __init__(self, name: str, error: Exception | None = None) -> None:
        self.name = name
        self.error = error
        self.calls = 0
        self.is_closed = False

    async def call(self, call: Call) -> Answer:
        self.calls += 1
        await asyncio.sleep(0)
        if self.error is not None:
            raise self.error
        return {"from": self.name}

    async def close(self) -> None:
        self.is_closed = True


async def test_without_a_warm_system_sessions_are_held_here() -> None:
    chosen = ChosenCalls(lambda: Place("here"), lambda: None)
    assert await chosen.call(CALL) == {"from": "here"}


async def test_a_warm_system_that_is_lost_is_not_asked_again_though_it_comes_back() -> None:
    warm, opened = Place("warm"), []

    def here() -> Place:
        opened.append(Place("here"))
        return opened[-1]

    chosen = ChosenCalls(here, lambda: warm)
    assert await chosen.call(CALL) == {"from": "warm"}
    warm.error = ClusterError("the cluster is gone")
    answers = await asyncio.gather(*(chosen.call(CALL) for _ in range(5)))
    assert answers == [{"from": "here"}] * 5
    warm.error = None
    assert await chosen.call(CALL) == {"from": "here"}
    assert (len(opened), warm.is_closed) == (1, True)
    await chosen.close()
    assert opened[0].is_closed


async def test_a_refusal_of_the_warm_system_is_no_reason_to_leave_it() -> None:
    warm = Place("warm", FencedError("taken over"))
    chosen = ChosenCalls(lambda: Place("here"), lambda: warm)
    with pytest.raises(FencedError):
        await chosen.call(CALL)
    warm.error = None
    assert await chosen.call(CALL) == {"from": "warm"}


async def test_a_failure_of_this_process_is_told() -> None:
    chosen = ChosenCalls(lambda: Place("here", ClusterError("no bus")), lambda: None)
    with pytest.raises(ClusterError):
        await chosen.call(CALL)


def gone(problem: str) -> StateStorageError:
    return StateStorageError("sessions /state/code_changes.sqlite was deleted", problem=problem)


async def test_a_store_that_is_lost_is_told_once_and_the_next_call_opens_the_one_that_is_there() -> None:
    opened: list[Place] = []
    forgotten: list[bool] = []

    def here() -> Place:
        opened.append(Place(f"store {len(opened)}"))
        return opened[-1]

    chosen = ChosenCalls(here, lambda: None, lambda: forgotten.append(True))
    await chosen.call(CALL)
    opened[0].error = gone("lost")
    told = await asyncio.gather(*(chosen.call(CALL) for _ in range(3)), return_exceptions=True)
    assert {str(error) for error in told} == {
        "sessions /state/code_changes.sqlite was deleted; or go on without what it held: no session is under way now, "
        "and start_session begins one"
    }
    assert (opened[0].is_closed, forgotten) == (True, [True])
    assert await chosen.call(CALL) == {"from": "store 1"}


@pytest.mark.parametrize(("problem", "is_warm"), [("full", False), ("lost", True)])
async def test_a_store_that_is_there_or_not_ours_is_kept(problem: str, is_warm: bool) -> None:
    place = Place("kept", gone(problem))
    chosen = ChosenCalls(lambda: place, lambda: place if is_warm else None)
    with pytest.raises(StateStorageError, match=r"deleted$"):
        await chosen.call(CALL)
    place.error = None
    assert await chosen.call(CALL) == {"from": "kept"}
    assert not place.is_closed


class SlowPlace(Place):
    """A place that holds a call of `slow` until it is let go."""

    def __init__(self, slow: Call) -> None:
        super().__init__("slow")
        self._slow = slow
        self.held = asyncio.Event()
        self.may_end = asyncio.Event()

    async def call(self, call: Call) -> Answer:
        if call is not self._slow:
            return await super().call(call)
        self.held.set()
        await self.may_end.wait()
        assert not self.is_closed
        return {"from": self.name}


async def test_a_call_under_way_in_a_store_that_is_lost_meanwhile_ends_by_itself_and_the_store_is_closed_then() -> None:
    slow = FindChange(driver="another", root="/project")
    lost, opened = SlowPlace(slow), [Place("anew")]
    opened.append(lost)
    chosen = ChosenCalls(opened.pop, lambda: None)
    under_way = asyncio.create_task(chosen.call(slow))
    await lost.held.wait()
    lost.error = gone("lost")
    with pytest.raises(StateStorageError, match="start_session begins one"):
        await chosen.call(CALL)
    assert not lost.is_closed
    assert await chosen.call(CALL) == {"from": "anew"}
    lost.may_end.set()
    assert await under_way == {"from": "slow"}
    assert lost.is_closed


async def test_no_new_session_is_promised_where_the_file_alone_is_gone() -> None:
    error = StateStorageError("sessions /state/c.sqlite was deleted", problem="lost", mark="/state/c.sqlite.made")
    chosen = ChosenCalls(lambda: Place("here", error), lambda: None)
    with pytest.raises(StateStorageError, match=r"was deleted$"):
        await chosen.call(CALL)
