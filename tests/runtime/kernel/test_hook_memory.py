"""Values that hooks keep beyond a run: those of one capability, user and session are out of reach of others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.agents.memory import MAX_VALUE_BYTES, HookQueries, Memory
from runtime.bus.queries import LocalQueries
from runtime.database.sqlite_database import SqliteDatabase
from runtime.errors import InputError, JeevesError, NoHandlerError
from runtime.kernel import AgentHooks, Capability, Request, StageContext, StageResult, StageView, open_kernel
from runtime.memory.cache import CacheStore
from runtime.memory.capability_values import MAX_VALUES, VALUES, MemoryCache, ValueStore, value_queries
from runtime.primitives.clock import FakeClock

SCOPE = ["depot", "session", "ann", "s1"]
OTHERS = [
    ["shop", "session", "ann", "s1"],
    ["depot", "cache", "ann", ""],
    ["depot", "session", "bob", "s1"],
    ["depot", "session", "ann", "s2"],
    ["depot", "session", "ann,s1", ""],
]


def queries() -> LocalQueries:
    found = LocalQueries()
    found.register(value_queries(ValueStore(MemoryCache(), FakeClock())))
    return found


async def test_a_value_is_kept_replaced_and_deleted() -> None:
    memory = Memory(queries(), SCOPE)
    assert await memory.get("order") is None
    for value in ({"article": "lamp"}, [1, 2.5], "x", None):
        await memory.put("order", value)
        assert await memory.get("order") == value


@pytest.mark.parametrize("other", OTHERS)
async def test_other_capabilities_users_and_sessions_do_not_see_it(other: list[str]) -> None:
    asked = queries()
    await Memory(asked, SCOPE).put("order", "lamp")
    assert await Memory(asked, other).get("order") is None
    await Memory(asked, other).put("order", None)
    assert await Memory(asked, SCOPE).get("order") == "lamp"


@pytest.mark.parametrize("count", [MAX_VALUES - 1, MAX_VALUES, MAX_VALUES + 1])
async def test_the_newest_values_of_a_scope_are_kept(count: int) -> None:
    memory = Memory(queries(), SCOPE)
    for number in range(count):
        await memory.put(f"n{number}", number)
    assert await memory.get("n0") == (0 if count <= MAX_VALUES else None)
    assert await memory.get(f"n{count - 1}") == count - 1


@pytest.mark.parametrize("extra", [-1, 0, 1])
async def test_a_value_takes_so_many_bytes_and_no_more(extra: int) -> None:
    memory = Memory(queries(), SCOPE)
    value = "x" * (MAX_VALUE_BYTES - 2 + extra)
    if extra <= 0:
        await memory.put("order", value)
    else:
        with pytest.raises(InputError, match=f"takes {MAX_VALUE_BYTES + 1} bytes as JSON"):
            await memory.put("order", value)


@pytest.mark.parametrize("value", [b"x", float("nan"), {1, 2}, "\ud800", object(), 10**400])
async def test_a_value_that_is_no_json_is_refused(value: Any) -> None:
    with pytest.raises(InputError, match="value 'order'"):
        await Memory(queries(), SCOPE).put("order", value)


@pytest.mark.parametrize("name", ["", "a\n", "x" * 129, 7])
async def test_a_name_that_is_none_is_refused(name: Any) -> None:
    for act in (Memory(queries(), SCOPE).get(name), Memory(queries(), SCOPE).put(name, 1)):
        with pytest.raises(InputError, match="printable characters"):
            await act


async def test_outside_a_session_there_is_no_session_memory() -> None:
    memory = Memory(queries(), None)
    assert await memory.get("order") is None
    with pytest.raises(InputError, match="belongs to no session"):
        await memory.put("order", 1)


@pytest.mark.parametrize("type_", ["values.get", "values.put", "session.turns", "memory.recall", "journal.find"])
async def test_hooks_cannot_ask_past_their_own_memory(type_: str) -> None:
    with pytest.raises(NoHandlerError, match="capability 'depot' may not ask"):
        await HookQueries(queries(), "depot", ()).query(type_, {"scope": ["shop"], "name": "order"})


async def test_what_a_capability_declares_it_may_ask_but_never_the_values_of_others() -> None:
    asked = queries()

    async def turns(_body: dict[str, Any]) -> dict[str, Any]:
        return {"turns": []}

    asked.register({"session.turns": turns})
    declared = HookQueries(asked, "depot", ("session.", "values.get"))
    assert await declared.query("session.turns", {}) == {"turns": []}
    with pytest.raises(NoHandlerError, match=r"may not ask 'values\.get'"):
        await declared.query("values.get", {"scope": ["shop"], "name": "order"})


async def test_a_later_run_of_the_session_finds_what_an_earlier_one_kept() -> None:
    async def count(context: StageContext, _view: StageView) -> StageResult:
        seen: dict[str, Any] = {}
        for name, memory in (("session", context.session), ("cache", context.cache)):
            seen[name] = (await memory.get("runs") or 0) + 1
            await memory.put("runs", seen[name])
        return StageResult(seen)

    capability = Capability("depot", agents={"clerk": AgentHooks(process=count)})
    kernel = open_kernel(capability, ["name: depot\nagents:\n  - {name: clerk, stage_order: 1}\n"])
    seen = []
    for session, user in (("s1", "ann"), ("s1", "ann"), ("s2", "ann"), ("s1", "bob")):
        envelope = await kernel.run(Request("depot", "?", session_id=session, user_id=user))
        seen.append((envelope.outputs["clerk"]["session"], envelope.outputs["clerk"]["cache"]))
    assert seen == [(1, 1), (2, 2), (1, 3), (1, 1)]
    await kernel.close()


def test_values_outlive_the_process_and_a_damaged_one_is_none(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "cache.sqlite", "normal")
    VALUES.open(database, FakeClock()).put(SCOPE, "order", {"article": "lamp"})
    store = VALUES.open(database, FakeClock())
    assert store.get(SCOPE, "order") == {"article": "lamp"}
    with database.transaction("damage it") as changes:
        (key,) = changes.rows("SELECT key FROM cache")[0]
    CacheStore(database).put(key, b"\xc1", 0)
    assert store.get(SCOPE, "order") is None
    database.close()


scopes = st.lists(st.text(max_size=2), min_size=4, max_size=4)


@given(scopes, scopes)
def test_no_names_of_users_and_sessions_make_two_scopes_one(first: list[str], second: list[str]) -> None:
    store = ValueStore(MemoryCache(), FakeClock())
    try:
        store.put(first, "x", 1)
        found = store.get(second, "x")
    except (JeevesError, UnicodeEncodeError):
        return
    assert (found == 1) == (first == second)
