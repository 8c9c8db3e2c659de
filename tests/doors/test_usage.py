"""What runs have used is counted by run, session and principal, and told to those whose business it is."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.memory.sessions import SESSIONS
from runtime.primitives.clock import SystemClock
from runtime.primitives.ids import RunId
from runtime.run.envelope import Request
from runtime.store.access_tokens import TOKENS
from runtime.store.opening import open_run_log, open_store
from runtime.store.options import StoreOptions
from runtime.store.run_records import Entry, RunUsage, UsedRun
from runtime.supervision.events import CancelRequested, Event, RunRequested
from serve.http.answering.session_views import kept_session_id
from serve.http.routes.usage import USAGE
from serve.usage import by_principal, by_session, summed, used_runs
from tests.doors.http_site import Site, open_site
from tests.doors.program import Program
from tests.doors.test_http_tokens import Door

CALLER = "address:loopback"


def keep_run(
    log: Any, run_id: str, user_id: str, session_id: str | None = None, age_h: float = 0.5, **used: int
) -> None:
    """Records a run that began so long ago and has used that."""
    at_ms = SystemClock().now_ms() - round(age_h * 3_600_000)
    begun = Event(RunId(run_id), 1, at_ms, RunRequested(Request("sample", "?", user_id=user_id, session_id=session_id)))
    ended = Event(RunId(run_id), 2, at_ms, CancelRequested())
    log.append_all(
        [Entry("sample", begun, usage=RunUsage(llm_calls=1)), Entry("sample", ended, usage=RunUsage(**used))]
    )


@pytest.fixture
def store(tmp_path: Path) -> StoreOptions:
    options = StoreOptions(str(tmp_path / "state"), durability="normal")
    log = open_run_log(options, "local")
    keep_run(
        log, "r-1", "user:ann", "s1", llm_calls=3, tokens_in=100, tokens_out=50, tool_calls=7, cost_micro=1_250_000
    )
    keep_run(log, "r-2", "user:ann", "s2", cost_micro=1)
    keep_run(log, "r-3", "user:bob", "s1", cost_micro=2_000_000)
    keep_run(log, "r-4", "user:ann", age_h=30, cost_micro=10**15)
    log.close()
    return options


def test_runs_are_summed_by_principal_and_session_exactly(store: StoreOptions) -> None:
    runs = used_runs(store, SystemClock().now_ms() - 86_400_000)
    sums = {name: each.document() for name, each in by_principal(runs).items()}
    assert list(sums) == ["user:bob", "user:ann"]
    assert sums["user:ann"] == {
        "runs": 2,
        "llm_calls": 3,
        "tool_calls": 7,
        "tokens_in": 100,
        "tokens_out": 50,
        "cost": "1.250001",
    }
    assert {name: each.runs for name, each in by_session(runs).items()} == {"s1": 2, "s2": 1}
    assert summed(runs).document()["cost"] == "3.250001"
    assert [run.run_id for run in used_runs(store, 0, "user:ann", "s1")] == ["r-1"]
    assert len(used_runs(store, 0)) == 4


@given(st.lists(st.integers(0, 10**12), max_size=20))
def test_no_sum_of_costs_drifts(costs: list[int]) -> None:
    runs = [UsedRun(RunId(str(n)), "u", "", 0, RunUsage(cost_micro=cost)) for n, cost in enumerate(costs)]
    assert summed(runs).used.cost_micro == sum(costs)


def test_a_run_has_used_what_its_newest_event_says_also_after_events_that_do_not(store: StoreOptions) -> None:
    log = open_run_log(store, "local")
    log.append("sample", Event(RunId("r-1"), 3, SystemClock().now_ms(), CancelRequested()))
    assert log.used(0, "user:ann", "s1")[0].usage.cost_micro == 1_250_000
    log.close()


@pytest.mark.long
def test_the_command_shows_it_by_principal_session_and_run(store: StoreOptions, jeeves: Program) -> None:
    assert jeeves.run("usage").answers().out == (
        "user:bob: 1 run, 0 model calls, 0 tool calls, 0 tokens in, 0 out, cost 2\n"
        "user:ann: 2 runs, 3 model calls, 7 tool calls, 100 tokens in, 50 out, cost 1.250001\n"
        "in all: 3 runs, 3 model calls, 7 tool calls, 100 tokens in, 50 out, cost 3.250001\n"
    )
    told = json.loads(jeeves.run("usage", "--by", "session", "--principal", "user:ann", "--json").answers().out)
    assert [(row["session"], row["cost"]) for row in told["by_session"]] == [("s1", "1.25"), ("s2", "0.000001")]
    told = json.loads(jeeves.run("usage", "--by", "run", "--hours", "48", "--json").answers().out)
    assert {row["run"] for row in told["by_run"]} == {"r-1", "r-2", "r-3", "r-4"}
    jeeves.run("usage", "--by", "moon").complains(2, "principal, session, run")
    jeeves.run("usage", "--hours", "0").complains(2, "--hours")


@pytest.mark.long
def test_the_command_names_sessions_with_their_principals(store: StoreOptions, jeeves: Program) -> None:
    kept_ids = {whose: kept_session_id(whose, "tour") for whose in ("token:ann", "token:ben")}
    log = open_run_log(store, "local")
    for whose, kept_id in kept_ids.items():
        keep_run(log, f"r-{whose[6:]}", whose, kept_id)
    log.close()
    stores = open_store(store, SystemClock())
    for whose, kept_id in kept_ids.items():
        stores.part(SESSIONS).owned.open(whose, "tour", kept_id)
    stores.close()
    lines = jeeves.run("usage", "--by", "session").answers().out.splitlines()
    assert {line.partition(": ")[0] for line in lines} == {"s1", "s2", "tour (token:ann)", "tour (token:ben)", "in all"}
    for told, runs in (("tour", 2), (kept_ids["token:ann"], 1), ("s1", 2), ("none", 0)):
        document = json.loads(jeeves.run("usage", "--by", "session", "--session", told, "--json").answers().out)
        assert document["total"]["runs"] == runs, told
    rows = json.loads(jeeves.run("usage", "--by", "session", "--principal", "token:ann", "--json").answers().out)
    assert [(row["session"], row["name"], row["principal"]) for row in rows["by_session"]] == [
        (kept_ids["token:ann"], "tour", "token:ann")
    ]


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with open_site(tmp_path) as opened:
        keep_run(opened.log, "r-1", CALLER, kept_session_id(CALLER, "s1"), llm_calls=2, cost_micro=30_000)
        keep_run(opened.log, "r-2", CALLER, cost_micro=20_000)
        keep_run(opened.log, "r-3", "token:bob", kept_session_id("token:bob", "s1"), cost_micro=5)
        yield opened


async def test_callers_see_what_their_own_runs_have_used(site: Site) -> None:
    told = (await site.call("GET", USAGE)).json
    assert (told["user_id"], told["runs"], told["llm_calls"], told["cost"]) == (CALLER, 2, 2, "0.05")
    assert "by_principal" not in told
    of_session = (await site.call("GET", f"{USAGE}?session_id=s1")).json
    assert (of_session["session_id"], of_session["runs"], of_session["cost"]) == ("s1", 1, "0.03")
    assert (await site.call("GET", f"{USAGE}?session_id=s2")).json["runs"] == 0
    for wrong in ("hours=0", "hours=x", "hours=1e3", "hours=9999", "session_id=a%0Ab"):
        (await site.call("GET", f"{USAGE}?{wrong}")).is_problem(422, "bad_input")


async def test_usage_of_a_session_is_counted_by_its_name_and_by_the_id_that_lists_show_once_it_is_deleted(
    site: Site,
) -> None:
    for number in range(2):  # a conversation, which has a session for each question
        keep_run(site.log, f"r-c{number}", CALLER, f"chat-{number}")
        site.sessions.owned.open(CALLER, "chat", f"chat-{number}")
    keep_run(site.log, "r-other", "token:bob", "chat-3")
    site.sessions.owned.open("token:bob", "chat", "chat-3")
    for name, runs in (("chat", 2), ("chat-1", 1), ("chat-3", 0), (kept_session_id(CALLER, "s1"), 1)):
        told = (await site.call("GET", f"{USAGE}?session_id={name}")).json
        assert (told["session_id"], told["runs"]) == (name, runs)


async def test_operators_see_what_each_principal_has_used(site: Site) -> None:
    stores = open_store(site.store, SystemClock())
    door = Door(site, stores.part(TOKENS))
    operator, bob = door.token("op", "operate"), door.token("bob", "watch")
    told = (await door.asked(operator, "GET", USAGE)).json
    assert [(row["user_id"], row["cost"]) for row in told["by_principal"]] == [
        (CALLER, "0.05"),
        ("token:bob", "0.000005"),
    ]
    own = (await door.asked(bob, "GET", USAGE)).json
    assert (own["user_id"], own["cost"], "by_principal" in own) == ("token:bob", "0.000005", False)
    stores.close()
