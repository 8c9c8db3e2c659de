"""The library gives the same results and the same errors at each of its doors."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from runtime.errors import (
    AnswerTimeoutError,
    ClusterError,
    InputError,
    InterruptError,
    JeevesError,
    NotPermittedError,
    OverloadedError,
    QuestionError,
    RateLimitedError,
    RepositoryError,
    RunStateError,
    UnknownNameError,
)
from runtime.primitives.clock import SystemClock
from runtime.primitives.ids import RunId
from runtime.run.envelope import Request
from runtime.store.access_tokens import TOKENS
from runtime.store.opening import open_store
from serve.client import Answer, Event, JeevesSync, Turn
from serve.library.jeeves import Jeeves
from serve.stage_outputs import MAX_SENT_BYTES
from tests.doors.http_site import REPO, open_site, until
from tests.doors.library_sites import DOORS, LibrarySite, cancelled, open_library

pytestmark = pytest.mark.long


@pytest.fixture(params=list(DOORS))
async def door(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[LibrarySite]:
    async with open_library(request.param, tmp_path) as opened:
        yield opened


async def begun(door: LibrarySite, task: asyncio.Task[Any]) -> RunId:
    """The run of a task, once it is under way."""
    await until(lambda: task.done() or door.site.log.unfinished())
    assert not task.done(), task.result()
    return door.site.log.unfinished()[0].run_id


async def test_a_question_is_answered(door: LibrarySite) -> None:
    answer = await door.jeeves.ask("Where?")
    assert (answer.text, answer.question, answer.terminal_reason) == ("Answer to Where?", "Where?", "completed")
    assert (answer.outcome, answer.usage.hops, answer.interrupt) == ("not_found", 2, None)
    assert str(answer) == "Answer to Where?"
    assert await door.jeeves.show(answer.run_id) == answer


async def test_the_events_of_a_stream_are_numbered_without_a_gap_and_the_answer_is_last(door: LibrarySite) -> None:
    items = [item async for item in door.jeeves.stream("Where?")]
    *events, answer = items
    assert isinstance(answer, Answer)
    assert answer.text == "Answer to Where?"
    assert all(isinstance(event, Event) for event in events)
    assert [event.seq for event in events if isinstance(event, Event)] == list(range(1, len(events) + 1))
    assert [event.type for event in events if isinstance(event, Event)][:: len(events) - 1] == [
        "run.accepted",
        "run.finished",
    ]


async def test_a_run_can_be_followed_again_from_any_event(door: LibrarySite) -> None:
    items = [item async for item in door.jeeves.stream("Where?")]
    run_id = items[-1].run_id
    for after in (0, 1, len(items) - 2, len(items) - 1):
        assert [item async for item in door.jeeves.follow(run_id, after=after)] == items[after:]


async def test_the_outputs_of_stages_come_with_their_ends_if_they_are_wanted(door: LibrarySite) -> None:
    question = f"give {MAX_SENT_BYTES}"
    items = [item async for item in door.jeeves.stream(question, outputs=True)]
    run_id = items[-1].run_id
    looked, told = [item for item in items if isinstance(item, Event) and item.type == "stage.finished"]
    large = {"found": "x" * MAX_SENT_BYTES}
    assert looked.data["output_bytes"] == len(msgspec.json.encode(large))
    assert told.data["output"] == {"final_response": f"Answer to {question}", "citations": []}
    assert [item async for item in door.jeeves.follow(run_id, after=2, outputs=True)] == items[2:]
    plain = [item async for item in door.jeeves.follow(run_id)]
    assert not any("output" in name for item in plain[:-1] if isinstance(item, Event) for name in item.data)
    assert await door.jeeves.stage_output(run_id, looked.seq) == large
    assert await door.jeeves.stage_output(run_id, told.seq) == told.data["output"]
    with pytest.raises(UnknownNameError, match="event 1 of run"):
        await door.jeeves.stage_output(run_id, 1)
    with pytest.raises(UnknownNameError):
        await door.jeeves.stage_output("r-unknown", 1)
    with pytest.raises(InputError, match="from 1"):
        await door.jeeves.stage_output(run_id, 0)


async def test_a_run_is_followed_behind_events_that_it_has_and_no_others(door: LibrarySite) -> None:
    items = [item async for item in door.jeeves.stream("Where?")]
    run_id, last = items[0].run_id, len(items) - 1
    assert [item async for item in door.jeeves.follow(run_id, after=last)] == items[-1:]
    for beyond in (last + 1, 9_999):
        with pytest.raises(InputError, match=f"no event {beyond} yet"):
            [item async for item in door.jeeves.follow(run_id, after=beyond)]


async def test_a_run_that_waits_is_not_followed_behind_an_event_that_it_does_not_have(door: LibrarySite) -> None:
    waiting = await door.jeeves.ask("why", wait=True)
    async with asyncio.timeout(30):
        with pytest.raises(InputError, match="no event 9999 yet"):
            [item async for item in door.jeeves.follow(waiting.run_id, after=9_999)]


async def test_a_caller_that_leaves_a_stream_leaves_the_run_alone(door: LibrarySite) -> None:
    stream = door.jeeves.stream("hold this")
    first = await anext(stream)
    await stream.aclose()
    door.site.hold.set()
    answer = await door.jeeves.wait_for(first.run_id)
    assert answer.text == "Answer to hold this"


async def test_a_question_of_the_run_is_answered_and_the_run_goes_on(door: LibrarySite) -> None:
    waiting = await door.jeeves.ask("why", wait=True)
    assert waiting.interrupt is not None
    assert (waiting.outcome, waiting.interrupt.kind, waiting.interrupt.question) == (
        "needs_answer",
        "clarification",
        "Which?",
    )
    with pytest.raises(InputError, match="text"):
        await door.jeeves.resume(waiting.run_id)
    with pytest.raises(InterruptError) as wrong:
        await door.jeeves.answer(waiting.run_id, "that", interrupt_id="x")
    assert wrong.value.values["run_id"] == waiting.run_id
    answer = await door.jeeves.answer(waiting.run_id, "that", interrupt_id=waiting.interrupt.id)
    assert (answer.run_id, answer.text) == (waiting.run_id, "Answer to why")
    with pytest.raises(RunStateError):
        await door.jeeves.answer(waiting.run_id, "that")


async def test_a_stream_ends_with_the_question_of_the_run(door: LibrarySite) -> None:
    items = [item async for item in door.jeeves.stream("why", wait=True)]
    assert items[-2].type == "interrupt.raised"  # type: ignore[union-attr]
    assert isinstance(items[-1], Answer)
    assert items[-1].interrupt is not None


async def test_without_wait_a_question_of_the_run_ends_it(door: LibrarySite) -> None:
    answer = await door.jeeves.ask("why")
    assert (answer.terminal_reason, answer.outcome, answer.interrupt) == (
        "clarification_required",
        "needs_answer",
        None,
    )


async def test_a_run_is_paused_and_resumed(door: LibrarySite) -> None:
    asking = asyncio.create_task(door.jeeves.ask("hold this"))
    run_id = await begun(door, asking)
    paused = await door.jeeves.pause(run_id, "lunch")
    assert paused.interrupt is not None
    assert paused.interrupt.kind == "checkpoint"
    with pytest.raises(RunStateError):
        await door.jeeves.pause(run_id)
    door.site.hold.set()
    resumed = await door.jeeves.resume(run_id)
    assert resumed == await asking
    assert resumed.text == "Answer to hold this"


async def test_a_run_is_cancelled(door: LibrarySite) -> None:
    asking = asyncio.create_task(door.jeeves.ask("hold this"))
    run_id = await begun(door, asking)
    ended = await door.jeeves.cancel(run_id, "enough")
    assert (ended.terminal_reason, ended.outcome) == ("user_cancelled", "failed")
    assert await asking == ended
    with pytest.raises(RunStateError) as over:
        await door.jeeves.cancel(run_id)
    assert over.value.values["run_id"] == run_id


async def test_a_caller_that_is_cancelled_cancels_its_run(door: LibrarySite) -> None:
    asking = asyncio.create_task(door.jeeves.ask("hold this"))
    run_id = await begun(door, asking)
    await cancelled(asking)
    assert (await door.jeeves.show(run_id)).terminal_reason == "user_cancelled"


async def test_a_stream_whose_task_is_cancelled_cancels_its_run(door: LibrarySite) -> None:
    async def read() -> None:
        async for _ in door.jeeves.stream("hold this"):
            pass

    reading = asyncio.create_task(read())
    run_id = await begun(door, reading)
    await cancelled(reading)
    assert (await door.jeeves.show(run_id)).terminal_reason == "user_cancelled"


async def test_a_run_goes_on_when_its_caller_waits_no_longer(door: LibrarySite) -> None:
    with pytest.raises(AnswerTimeoutError) as late:
        await door.jeeves.ask("hold this", timeout_s=0.2)
    run_id = late.value.values["run_id"]
    assert door.site.log.unfinished()[0].run_id == run_id
    with pytest.raises(RunStateError, match="no answer yet"):
        await door.jeeves.show(run_id)
    door.site.hold.set()
    assert (await door.jeeves.wait_for(run_id)).text == "Answer to hold this"


async def test_the_same_key_gives_the_same_run_and_another_question_under_it_is_refused(door: LibrarySite) -> None:
    first = await door.jeeves.ask("Where?", key="k1")
    assert await door.jeeves.ask("Where?", key="k1") == first
    assert len(door.site.log.runs(10)) == 1
    with pytest.raises(InputError, match="another request"):
        await door.jeeves.ask("When?", key="k1")
    assert len(door.site.log.runs(10)) == 1


async def test_a_batch_has_its_answers_in_the_order_of_the_questions(door: LibrarySite) -> None:
    questions = [f"Where is {number}?" for number in range(12)]
    questions[5] = "  "
    results = [result async for result in door.jeeves.batch(questions, concurrency=3)]
    assert [result.question for result in results] == questions
    assert [type(result.error) for result in results if result.answer is None] == [QuestionError]
    assert [str(result.answer) for result in results if result.answer][5] == "Answer to Where is 6?"


async def test_runs_are_listed_newest_first_with_no_others(door: LibrarySite) -> None:
    await door.site.submit(Request("sample", "?", user_id="user:somebody-else"))
    answers = [await door.jeeves.ask(f"Where is {number}?") for number in range(3)]
    listed = {run.run_id: run.question for run in await door.jeeves.runs(3)}
    assert listed == {answer.run_id: answer.question for answer in answers}
    assert len(await door.jeeves.runs(2)) == 2


@pytest.mark.parametrize(("limit", "is_taken"), [(-1, False), (0, False), (1, True), (500, True), (501, False)])
async def test_a_list_of_runs_has_one_to_500_runs(door: LibrarySite, limit: int, is_taken: bool) -> None:
    if is_taken:
        assert await door.jeeves.runs(limit) == []
        return
    with pytest.raises(InputError, match=f"limit is {limit}; give 1 to 500"):
        await door.jeeves.runs(limit)


# The user of a warm system may be root, who sees all runs.
@pytest.mark.parametrize("door", ["in_process", "http"], indirect=True)
async def test_runs_of_a_principal_are_listed_for_those_who_may_see_them(door: LibrarySite) -> None:
    for user_id in ("user:somebody-else", "token:ann", "token:ben"):
        await door.site.submit(Request("sample", "?", user_id=user_id))
    mine = (await door.jeeves.ask("Where?")).run_id
    (own,) = await door.jeeves.runs()
    assert [run.run_id for run in await door.jeeves.runs(principal=own.user_id)] == [mine]
    for wrong in ("", "a\nb", "\ud800"):
        with pytest.raises(InputError, match="principal is"):
            await door.jeeves.runs(principal=wrong)
    with pytest.raises(NotPermittedError):
        await door.jeeves.runs(principal="user:somebody-else")
    if door.name == "http":  # a caller without a token does not operate the service
        for other in ("token:ann", "all"):
            with pytest.raises(NotPermittedError):
                await door.jeeves.runs(principal=other)
        return
    assert [run.user_id for run in await door.jeeves.runs(principal="token:ann")] == ["token:ann"]
    assert {run.user_id for run in await door.jeeves.runs(principal="all")} == {own.user_id, "token:ann", "token:ben"}
    with pytest.raises(InputError, match="principal is 'ann'"):
        await door.jeeves.runs(principal="ann")


async def test_an_operator_lists_the_runs_of_a_principal_over_http(tmp_path: Path) -> None:
    async with open_site(tmp_path) as site:
        stores = open_store(site.store, SystemClock())
        token = stores.part(TOKENS).create("op", ("operate",), None).text
        await site.submit(Request("sample", "?", user_id="token:ann"))
        async with Jeeves.at(f"http://127.0.0.1:{site.port}", token=token) as jeeves:
            assert await jeeves.runs() == []
            for principal in ("token:ann", "all"):
                assert [run.user_id for run in await jeeves.runs(principal=principal)] == ["token:ann"]
            with pytest.raises(InputError, match="principal is 'user:ann'"):
                await jeeves.runs(principal="user:ann")
        stores.close()


BAD: list[tuple[str, dict[str, Any], type[JeevesError]]] = [
    ("", {}, QuestionError),
    ("  \n", {}, QuestionError),
    ("a\0b", {}, QuestionError),
    ("\ud800", {}, QuestionError),
    ("x" * 1_001, {}, QuestionError),
    ("Where?", {"pipeline": "none"}, UnknownNameError),
    ("Where?", {"mode": "none"}, UnknownNameError),
    ("Where?", {"session": "a\nb"}, InputError),
    ("Where?", {"session": ""}, InputError),
    ("Where?", {"session": "."}, InputError),
    ("Where?", {"session": ".."}, InputError),
    ("Where?", {"repo": "nowhere"}, RepositoryError),
    ("Where?", {"repo": "/no/such/folder"}, RepositoryError),
    ("Where?", {"repo": "../nowhere"}, RepositoryError),
    ("Where?", {"limits": {"max_agent_hops": -1}}, InputError),
    ("Where?", {"limits": {"no_such_limit": 1}}, InputError),
    ("Where?", {"deadline_s": 0}, InputError),
    ("Where?", {"deadline_s": float("nan")}, InputError),
    ("Where?", {"run_mode": "none"}, InputError),
    ("Where?", {"key": "\n"}, InputError),
    ("Where?", {"key": "k" * 256}, InputError),
]


async def test_bad_input_starts_nothing_and_raises_the_same_error(door: LibrarySite) -> None:
    raised = []
    for question, options, _ in BAD:
        with pytest.raises(JeevesError) as refused:
            await door.jeeves.ask(question, **options)
        raised.append((question, options, type(refused.value)))
    assert raised == BAD
    assert door.site.log.runs(10) == []


async def test_a_question_may_be_as_long_as_allowed(door: LibrarySite) -> None:
    for question in ("x", "x" * 999, "x" * 1_000):
        assert (await door.jeeves.ask(question)).question == question


async def test_a_bound_is_an_outcome(door: LibrarySite) -> None:
    answer = await door.jeeves.ask("Where?", limits={"max_agent_hops": 1})
    assert (answer.outcome, answer.bound, answer.partial) == ("bound_reached", "max_agent_hops_exceeded", True)


async def test_an_unknown_run_is_named_by_the_same_error(door: LibrarySite) -> None:
    calls = (door.jeeves.show, door.jeeves.wait_for, door.jeeves.cancel, door.jeeves.resume)
    for run_id in ("r-none", "../../health", "..", "a/b", "", "ü"):
        for call in calls:
            with pytest.raises(UnknownNameError):
                await call(run_id)


# The socket of a warm system knows its client by the operating system: that may be root, who controls all runs.
@pytest.mark.parametrize("door", ["in_process", "http"], indirect=True)
async def test_the_run_of_somebody_else_is_kept_from_the_caller(door: LibrarySite) -> None:
    run_id = await door.site.submit(Request("sample", "secret hold", user_id="user:somebody-else"))
    for call in (
        partial(door.jeeves.show, run_id),
        partial(door.jeeves.wait_for, run_id),
        partial(door.jeeves.cancel, run_id),
        partial(door.jeeves.pause, run_id),
        partial(door.jeeves.answer, run_id, "x"),
    ):
        with pytest.raises(UnknownNameError) as refused:
            await call()
        assert "secret" not in str(refused.value)


ERRORS = (
    ClusterError("the supervisor is gone"),
    OverloadedError("too many", retry_after_s=5),
    RateLimitedError("too often", user_id="u", retry_after_s=7),
    UnknownNameError("no such thing", name="x", known=["y"]),
)


async def test_an_error_of_the_system_has_its_class_and_its_values(door: LibrarySite) -> None:
    for error in ERRORS:
        door.site.bug = error
        with pytest.raises(JeevesError) as raised:
            await door.jeeves.ask("When?")
        assert type(raised.value) is type(error)
        assert raised.value.message == error.message
        for name in ("retry_after_s", "known"):
            assert raised.value.values.get(name) == error.values.get(name)


async def test_results_are_frozen_and_keep_their_document(door: LibrarySite) -> None:
    answer = await door.jeeves.ask("Where?")
    with pytest.raises(AttributeError):
        answer.text = "other"  # type: ignore[misc]
    assert answer.document["answer"] == answer.text
    counted = {name: count for name, count in msgspec.to_builtins(answer.usage).items() if name != "cost"}
    assert counted == {name: answer.document["usage"][name] for name in counted}
    assert answer.usage.cost == 0


async def test_sessions_are_listed_shown_and_deleted(door: LibrarySite) -> None:
    assert await door.jeeves.sessions() == []
    for question, session in (("Where?", "tour"), ("And then?", "tour"), ("Why not?", "a/b c")):
        await door.jeeves.ask(question, session=session)
    await door.jeeves.ask("Without one?")
    assert {each.session_id for each in await door.jeeves.sessions()} == {"tour", "a/b c"}
    assert len(await door.jeeves.sessions(limit=1)) == 1
    shown = await door.jeeves.session("tour")
    assert [turn.question for turn in shown.turns] == ["Where?", "And then?"]
    newest = await door.jeeves.session("tour", limit=1)
    assert ([turn.question for turn in newest.turns], newest.has_more) == (["And then?"], True)
    deleted = await door.jeeves.delete_session("tour")
    assert (deleted.session_id, deleted.turns) == ("tour", 2)
    assert "kept" in deleted.run_logs
    assert [each.session_id for each in await door.jeeves.sessions()] == ["a/b c"]
    assert (await door.jeeves.delete_session("a/b c")).turns == 1


@pytest.mark.parametrize("name", ["nothing", ".", "..", "", "x" * 129, "a\nb"])
async def test_a_session_that_is_not_there_is_named_by_the_same_error(door: LibrarySite, name: str) -> None:
    for call in (door.jeeves.session, door.jeeves.delete_session):
        with pytest.raises(UnknownNameError, match="no session of yours"):
            await call(name)


async def test_a_session_in_use_is_not_deleted_and_that_of_somebody_else_is_not_there(door: LibrarySite) -> None:
    await door.jeeves.ask("why", session="tour", wait=True)
    with pytest.raises(RunStateError, match="under way"):
        await door.jeeves.delete_session("tour")
    for_others = Turn("theirs", "told", 1, REPO)
    door.site.sessions.append("theirs", for_others)
    door.site.sessions.owned.open("user:somebody", "theirs", "theirs")
    with pytest.raises(UnknownNameError):
        await door.jeeves.session("theirs")
    for limit in (0, 501):
        with pytest.raises(InputError, match="limit is"):
            await door.jeeves.sessions(limit)


def test_the_synchronous_face_has_the_same_calls() -> None:
    def calls(kind: type) -> dict[str, Any]:
        members = inspect.getmembers(kind, callable)
        found = {name: inspect.signature(member) for name, member in members if not name.startswith("_")}
        return {name: [str(each) for each in signature.parameters.values()] for name, signature in found.items()}

    assert calls(JeevesSync) == calls(Jeeves)


async def test_the_answers_of_all_doors_are_the_same(tmp_path: Path) -> None:
    answers = []
    for name in DOORS:
        async with open_library(name, tmp_path / name) as door:
            document = (await door.jeeves.ask("Where?")).document
        told = {**document, "run_id": "", "repo": "", "usage": {**document["usage"], "duration_ms": 0}}
        answers.append(told)
    assert answers[0] == answers[1] == answers[2]
