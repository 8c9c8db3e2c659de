"""Events that a capability's hooks emit: bounded, recorded, and shown once however often their stage runs."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.agents.capability import StageContext, StageResult
from runtime.agents.own_events import MAX_EVENT_BYTES, MAX_EVENT_DEPTH, plain_data
from runtime.errors import StageError
from runtime.primitives.ids import StageKey
from runtime.run.stage_view import StageView
from runtime.supervision.commands import EVENT_FAMILIES
from runtime.supervision.event_log import event_log
from runtime.supervision.events import MAX_EMITTED, StageEmitted, decode_event, encode_event
from runtime.supervision.replay import client_events_of
from runtime.testing import Bench, PipelineBuilder, ScriptedRunner, scripted_runner

PIPELINE = "name: p\ncapability: scripted\nagents:\n  - {name: a, stage_order: 1, max_retries: 1, default_next: end}\n"


def emitting(*events: tuple[Any, Any], fails: bool = False) -> Any:
    """A step of a script that emits events."""

    async def step(context: StageContext, _view: StageView) -> StageResult:
        for name, data in events:
            await context.emit(name, data)
        if fails:
            raise StageError("broken", recoverable=True)
        return StageResult({"x": 1})

    return step


async def own_events(kit: ScriptedRunner) -> list[tuple[str, dict[str, Any]]]:
    """A run; the events of its capability."""
    envelope = await kit.run_through_time()
    events = await kit.events(envelope.run_id)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    return [(event.type, event.data) for event in events if event.type.partition(".")[0] not in EVENT_FAMILIES]


async def test_an_event_is_shown_under_the_name_of_its_capability() -> None:
    kit = scripted_runner(PIPELINE, {"a": [emitting(("sent", {"article": "lamp"}), ("seen", {}))]})
    assert await own_events(kit) == [("scripted.sent", {"article": "lamp"}), ("scripted.seen", {})]


async def test_a_stage_that_is_tried_again_repeats_none_of_its_events() -> None:
    tried = [emitting(("one", {}), ("two", {}), fails=True), emitting(("one", {}), ("two", {}), ("three", {}))]
    kit = scripted_runner(PIPELINE, {"a": tried})
    assert [name for name, _ in await own_events(kit)] == ["scripted.one", "scripted.two", "scripted.three"]


@pytest.mark.parametrize(("count", "status"), [(MAX_EMITTED - 1, 0), (MAX_EMITTED, 0), (MAX_EMITTED + 1, 1)])
async def test_a_visit_may_emit_so_many_events_and_no_more(count: int, status: int) -> None:
    kit = scripted_runner(PIPELINE, {"a": [emitting(*[("tick", {"n": n}) for n in range(count)])]})
    assert len(await own_events(kit)) == min(count, MAX_EMITTED)
    (run,) = kit.log.runs(1)
    envelope = kit.runner.envelope(run.run_id)
    assert len(envelope.errors) == 2 * status
    if status:
        assert f"may emit {MAX_EMITTED} events" in envelope.errors[0]


async def test_a_flood_that_swallows_its_errors_shows_no_more_either() -> None:
    async def flood(context: StageContext, _view: StageView) -> StageResult:
        refused = 0
        for number in range(10_000):
            try:
                await context.emit("tick", {"n": number})
            except StageError:
                refused += 1
        return StageResult({"refused": refused})

    kit = scripted_runner(PIPELINE, {"a": [flood]})
    assert len(await own_events(kit)) == MAX_EMITTED


@pytest.mark.parametrize("name", ["", "Sent", "a.b", "1st", "run.finished", "a" * 65, "é", "a\n", None, 7])
async def test_an_event_with_another_name_fails_its_stage(name: Any) -> None:
    kit = scripted_runner(PIPELINE, {"a": [emitting((name, {}))]})
    assert await own_events(kit) == []
    (run,) = kit.log.runs(1)
    assert "the name of an event is 1 to 64" in kit.runner.envelope(run.run_id).errors[0]


def nested(levels: int) -> Any:
    """Lists in lists."""
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


CYCLE: dict[str, Any] = {}
CYCLE["again"] = CYCLE


@pytest.mark.parametrize(
    "data",
    [
        {"a": b"x"},
        {"a": {1, 2}},
        {"a": float("nan")},
        {"a": float("inf")},
        {"a": "\ud800"},
        {"a": 10**400},
        {"a": object()},
        {("a", "b"): 1},
        {"a": nested(MAX_EVENT_DEPTH)},
        {"a": nested(2_000)},
        {"a": nested(100_000)},
        CYCLE,
        [1],
        7,
    ],
)
def test_data_that_is_no_json_object_is_refused(data: Any) -> None:
    with pytest.raises(StageError, match="of event 'sent'"):
        plain_data("sent", data)


@pytest.mark.parametrize("extra", [-1, 0, 1])
def test_the_data_of_an_event_takes_so_many_bytes_and_no_more(extra: int) -> None:
    data = {"a": "x" * (MAX_EVENT_BYTES - len('{"a": ""}') + extra)}
    if extra <= 0:
        assert plain_data("sent", data) == data
    else:
        with pytest.raises(StageError, match=f"takes {MAX_EVENT_BYTES + 1} bytes as JSON, at most {MAX_EVENT_BYTES}"):
            plain_data("sent", data)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(max_size=3) | st.builds(object),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3) | st.integers(), inner, max_size=3),
)


@given(st.dictionaries(st.text(max_size=3), anything, max_size=4))
def test_data_is_refused_or_the_same_json_everywhere(data: dict[str, Any]) -> None:
    try:
        plain = plain_data("sent", data)
    except StageError:
        return
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain == json.loads(json.dumps(data))


async def test_data_that_is_changed_after_it_was_emitted_stays_as_it_was() -> None:
    data = {"n": [1]}

    async def change(context: StageContext, _view: StageView) -> StageResult:
        await context.emit("sent", data)
        data["n"].append(2)
        return StageResult({"x": 1})

    assert await own_events(scripted_runner(PIPELINE, {"a": [change]})) == [("scripted.sent", {"n": [1]})]


def bench(capability: str = "depot") -> Bench:
    """A run whose only stage has started."""
    made = Bench(PipelineBuilder("p", capability=capability).stage("a", max_retries=1).build())
    made.request()
    made.start()
    return made


def emit(made: Bench, number: int, name: str = "sent", key: StageKey | None = None) -> str | None:
    """The event arrives from the stage in flight; why it was ignored."""
    return made.happen(StageEmitted(key or made.flying.key, name, number, {"n": number})).ignored


def shown(made: Bench) -> list[int]:
    """The numbers of the events of the capability that were shown."""
    return [event.data["n"] for event in made.client_events if event.type == "depot.sent"]


def test_an_attempt_that_is_issued_again_shows_only_what_is_new() -> None:
    made = bench()
    assert emit(made, 1) is None
    assert emit(made, 2) is None
    made.lose()
    made.start()
    assert emit(made, 1) == "event 1 of this visit was emitted already"
    assert emit(made, 2) == "event 2 of this visit was emitted already"
    assert emit(made, 3) is None
    assert shown(made) == [1, 2, 3]


def test_another_visit_of_the_stage_has_events_of_its_own() -> None:
    pipeline = PipelineBuilder("p", capability="depot").stage("a").rule("again", True, "a").edge_limit("a", "a", 1)
    made = Bench(pipeline.build())
    made.request()
    made.start()
    emit(made, 1)
    made.succeed({"again": True})
    assert emit(made, 1) is None
    assert shown(made) == [1, 1]


def test_an_event_of_an_attempt_that_was_lost_is_ignored() -> None:
    made = bench()
    lost = made.flying.key
    made.lose()
    assert emit(made, 1, key=lost) == "no such stage is in flight"
    assert shown(made) == []


@pytest.mark.parametrize(
    ("number", "name", "capability", "taken"),
    [
        (MAX_EMITTED, "sent", "depot", True),
        (MAX_EMITTED + 1, "sent", "depot", False),
        (0, "sent", "depot", False),
        (1, "Sent", "depot", False),
        (1, "finished", "run", False),
        (1, "snapshot", "text", False),
    ],
)
def test_an_agent_process_cannot_pass_the_limits_by_leaving_out_the_checks(
    number: int, name: str, capability: str, taken: bool
) -> None:
    made = bench(capability)
    before = len(made.client_events)
    assert (emit(made, number, name) is None) is taken
    assert len(made.client_events) == before + taken


@given(st.lists(st.sampled_from(["lose", *range(0, 6)]), max_size=25))
def test_however_attempts_are_lost_each_number_is_shown_once_and_in_order(moves: list[Any]) -> None:
    made = bench()
    for move in moves:
        if made.envelope.lifecycle != "running":
            break
        if move == "lose":
            made.lose()
        else:
            emit(made, move)
    assert shown(made) == sorted(set(shown(made)))
    seen = list(client_events_of(made.config, made.log))
    assert [event.seq for event in seen] == list(range(1, len(seen) + 1))
    assert [event for event in seen if event.type == "depot.sent"] == [
        event for event in made.client_events if event.type == "depot.sent"
    ]


def test_an_event_is_kept_in_the_log_and_read_back() -> None:
    made = bench()
    emit(made, 1)
    assert decode_event(encode_event(made.log[-1])) == made.log[-1]
    told = {"what": "emitted", "name": "sent", "number": 1, "data": {"n": 1}}
    assert list(event_log(made.config, made.log))[-1].payload == told
