"""Answers the calls of jeeves.proto over the same service as the HTTP door; knows no Ray.

docs/guides/grpc.md tells users what each call does. A failure is left in the context of its call and the reply stays
empty, rather than raised: Ray Serve drops the metadata of a call that raises, and logs a traceback for each.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Any, NamedTuple

import msgspec

from runtime.errors import InputError, NewerVersionError, UnknownNameError
from runtime.pipeline.config import PipelineConfig
from runtime.run.envelope import Envelope
from runtime.supervision.commands import ClientEvent
from serve.envelope_documents import continuing, created, result, validity
from serve.grpc.calls import Admission, Call, CallContext, Rights, until_ended
from serve.grpc.messages import (
    NUMBER_NAME,
    answer_body,
    chat_message,
    check_message,
    idempotency_key,
    json_text,
    page_wanted,
    reason_of,
    resumed_after,
)
from serve.grpc.v1 import jeeves_pb2
from serve.http.access.callers import Caller
from serve.http.access.token_check import token_check
from serve.http.answering.run_views import run_list, run_view
from serve.http.answering.service import Service, ask_of, fingerprint_of, session_of
from serve.http.connections.cancelling import check_not_cancelled
from serve.http.connections.event_stream import stream
from serve.http.documents.request_bodies import CHECKED_HERE_BYTES
from serve.http.documents.run_documents import checked_run_id, page_after
from serve.http.routes.chat_stream import followed_run
from serve.run_control import answer_run, cancel_run

Parts = AsyncGenerator[jeeves_pb2.StreamReply, None]

FOLLOW = Rights("events")
ASK = Rights("chat")


class GrpcDoor:
    """Answers calls. `pipelines`: those of the service, for the calls on envelopes."""

    def __init__(self, service: Service, pipelines: Mapping[str, PipelineConfig]) -> None:
        self._service = service
        self._pipelines = pipelines
        self._admission = Admission(service, token_check(service.spec.store, are_required=True))

    async def reply(self, name: str, request: Any, context: CallContext) -> Any:
        """Answer the call `name`, one of `CALLS`; a failure is left in the context."""
        call, unary = Call(context), CALLS[name]
        try:
            caller, token = await self._admission.admit(call, unary.rights)
            check_not_cancelled()
            check_message(request, self._service.spec.http)
            async with self._admission.ending(call, token) as ending:
                return await until_ended(unary.answer(self, request, caller, call), ending)
        except Exception as error:  # noqa: BLE001 (logged there)
            call.fail(self._admission.failure(call, error))
            return unary.reply()

    async def stream(self, request: jeeves_pb2.StreamRequest, context: CallContext) -> Parts:
        """Answer the call Stream; a failure is the last part, and left in the context."""
        call = Call(context)

        def problem_part(error: Exception) -> jeeves_pb2.StreamReply:
            failure = self._admission.failure(call, error)
            call.fail(failure)
            return jeeves_pb2.StreamReply(problem=failure.problem)

        try:
            caller, token = await self._admission.admit(call, FOLLOW if request.HasField("run_id") else ASK)
            check_not_cancelled()
            check_message(request, self._service.spec.http)
            give_back = self._service.stream_of(caller)
        except Exception as error:  # noqa: BLE001 (logged there)
            yield problem_part(error)
            return
        alive = jeeves_pb2.StreamReply(alive=jeeves_pb2.Alive())
        limits = self._service.spec.http
        try:
            # Ray Serve's proxy drops the call of a client that leaves while a part is being sent, and cancels nothing.
            async with self._admission.ending(call, token, limits.grpc_stream_s) as ending:
                parts = stream(self._parts(request, caller, call), limits.stream_alive_s, problem_part, alive, ending)
                async with aclosing(parts) as shown:
                    async for part in shown:
                        yield part
        finally:
            give_back()

    async def _parts(self, request: jeeves_pb2.StreamRequest, caller: Caller, call: Call) -> Parts:
        """Yield the events of the run of a request, and the run last."""
        after_seq = resumed_after(request)
        if request.HasField("start"):
            parts = self._started_parts(request, caller, call, after_seq)
        elif request.HasField("run_id"):
            parts = self._followed_parts(request, caller, call, after_seq or 0)
        else:
            raise InputError("send `start`, a question, or `run_id`, the run to follow")
        async with aclosing(parts):
            async for part in parts:
                yield part

    async def _started_parts(
        self, request: jeeves_pb2.StreamRequest, caller: Caller, call: Call, after_seq: int | None
    ) -> Parts:
        service, key = self._service, idempotency_key(request.start)
        message = chat_message(request.start, stream=True, outputs=request.outputs)
        ask = ask_of(message, service.spec, caller)
        opened, sent = session_of(message, service, caller, ask), fingerprint_of(message)
        run = await followed_run(service, ask, key, sent, call.on_run, after_seq, opened, NUMBER_NAME)
        async with aclosing(self._event_parts(run.run_id, run.events(), request.outputs)) as events:
            async for part in events:
                yield part
        assert run.envelope is not None, "it is there when the events end"
        yield jeeves_pb2.StreamReply(run=self._run_reply(run.envelope))

    async def _followed_parts(
        self, request: jeeves_pb2.StreamRequest, caller: Caller, call: Call, after_seq: int
    ) -> Parts:
        service, run_id = self._service, checked_run_id(request.run_id)
        await service.envelope(run_id, caller)
        call.on_run(run_id)
        await service.check_event(run_id, after_seq)
        events = self._event_parts(run_id, service.watch(run_id, after_seq), request.outputs)
        async with aclosing(events):
            async for part in events:
                yield part
        yield jeeves_pb2.StreamReply(run=self._run_reply(await service.envelope(run_id, caller)))

    async def _event_parts(self, run_id: Any, events: AsyncGenerator[ClientEvent, None], with_outputs: bool) -> Parts:
        service = self._service
        shown = service.outputs_of(run_id).with_outputs(events) if with_outputs else events
        async with aclosing(shown):
            async for event in shown:
                json = _json(service.paths.value(msgspec.to_builtins(event)))
                yield jeeves_pb2.StreamReply(event=jeeves_pb2.Event(seq=event.seq, type=event.type, json=json))

    async def run(self, request: jeeves_pb2.RunRequest, caller: Caller, call: Call) -> jeeves_pb2.RunReply:
        """Answer a question."""
        service, message = self._service, chat_message(request)
        ask = ask_of(message, service.spec, caller)
        opened = session_of(message, service, caller, ask)
        key, sent = idempotency_key(request), fingerprint_of(message)
        return self._run_reply(await service.settled(ask, caller, key, sent, call.on_run, opened))

    async def answer(self, request: jeeves_pb2.AnswerRequest, caller: Caller, call: Call) -> jeeves_pb2.RunReply:
        """Answer the question of that id."""
        if not request.HasField("interrupt_id"):
            raise InputError("interrupt_id is needed: the id of the question; Resume answers the one that is open")
        return await self.resume(request, caller, call)

    async def resume(self, request: jeeves_pb2.AnswerRequest, caller: Caller, call: Call) -> jeeves_pb2.RunReply:
        """Resume a run that is paused or waits, with the answer that it needs."""
        run_id = await self._driven(request.run_id, caller, call)
        is_large = len(request.data_json) > CHECKED_HERE_BYTES
        limits = self._service.spec.http
        body = await asyncio.to_thread(answer_body, request, limits) if is_large else answer_body(request, limits)
        interrupt_id = request.interrupt_id if request.HasField("interrupt_id") else None
        await answer_run(self._service.runs, run_id, interrupt_id, caller.control_id, body.response())
        return self._run_reply(await self._service.runs.envelope(run_id))

    async def cancel(self, request: jeeves_pb2.CancelRequest, caller: Caller, call: Call) -> jeeves_pb2.RunReply:
        """End a run."""
        run_id, reason = await self._driven(request.run_id, caller, call), reason_of(request)
        return self._run_reply(await cancel_run(self._service.runs, run_id, caller.control_id, reason))

    async def get(self, request: jeeves_pb2.GetRequest, caller: Caller, call: Call) -> jeeves_pb2.RunReply:
        """Return a run with its envelope."""
        envelope, shown = await run_view(self._service, caller, checked_run_id(request.run_id))
        call.on_run(envelope.run_id)
        reply = self._run_reply(envelope)
        reply.envelope_json = _json(shown)
        return reply

    async def listed(self, request: jeeves_pb2.ListRequest, caller: Caller, call: Call) -> jeeves_pb2.ListReply:
        """List the newest runs."""
        limit, before, principal = page_wanted(request)
        found = await run_list(self._service, caller, limit, principal, before)
        reply = jeeves_pb2.ListReply(runs_json=_json(found))
        following = page_after(found, limit)
        if following is not None:
            reply.next = following
        return reply

    async def envelope_call(
        self, request: jeeves_pb2.Document, work: Callable[[bytes], dict[str, Any]]
    ) -> jeeves_pb2.Document:
        """Return the document that some work of the kernel makes of another one."""

        def made() -> dict[str, Any]:
            return work(json_text(request.json, "json", self._service.spec.http))

        try:
            # To check a large document takes as long as to work on it: others are answered meanwhile.
            return jeeves_pb2.Document(json=_json(await asyncio.to_thread(made)))
        except NewerVersionError as error:
            # So says the document of a caller: nothing is amiss with this installation, nor with the run it names.
            raise InputError(error.message) from error

    def pipeline_named(self, name: str) -> PipelineConfig:
        """Return a pipeline of the service. Raises UnknownNameError."""
        if name not in self._pipelines:
            known = sorted(self._pipelines)
            told = f"no pipeline is named '{name[:100]}'; known: {', '.join(known)}"
            raise UnknownNameError(told, name=name[:100], known=known)
        return self._pipelines[name]

    async def _driven(self, run_id: str, caller: Caller, call: Call) -> Any:
        known = checked_run_id(run_id)
        await self._service.driven(known, caller)
        call.on_run(known)
        return known

    def _run_reply(self, envelope: Envelope) -> jeeves_pb2.RunReply:
        reply = jeeves_pb2.RunReply(run_id=envelope.run_id, lifecycle=envelope.lifecycle)
        if envelope.terminal_reason is not None:
            reply.terminal_reason = envelope.terminal_reason
        if envelope.lifecycle in ("terminated", "waiting"):
            reply.answer_json = _json(self._service.document(envelope))
        asked = envelope.interrupt
        if envelope.lifecycle == "waiting" and asked is not None:
            reply.question.CopyFrom(jeeves_pb2.Question(interrupt_id=asked.id, kind=asked.kind, text=asked.question))
        return reply


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


class Unary(NamedTuple):
    """Describes a call with one reply: who may make it, an empty reply, and what answers it."""

    rights: Rights
    reply: type
    answer: Callable[[GrpcDoor, Any, Caller, Call], Awaitable[Any]]


def _on_document(work: Callable[[GrpcDoor], Callable[[bytes], dict[str, Any]]]) -> Unary:
    async def answer(door: GrpcDoor, request: Any, _caller: Caller, _call: Call) -> Any:
        return await door.envelope_call(request, work(door))

    # They tell nothing of anybody: any token opens them.
    return Unary(Rights("repositories", counted="run"), jeeves_pb2.Document, answer)


CALLS: dict[str, Unary] = {
    "Run": Unary(ASK, jeeves_pb2.RunReply, GrpcDoor.run),
    "Answer": Unary(Rights("answer_interrupt"), jeeves_pb2.RunReply, GrpcDoor.answer),
    "Resume": Unary(Rights("resume"), jeeves_pb2.RunReply, GrpcDoor.resume),
    "Cancel": Unary(Rights("cancel"), jeeves_pb2.RunReply, GrpcDoor.cancel),
    "Get": Unary(Rights("run"), jeeves_pb2.RunReply, GrpcDoor.get),
    "List": Unary(Rights("runs"), jeeves_pb2.ListReply, GrpcDoor.listed),
    "CreateEnvelope": _on_document(lambda door: lambda given: created(given, door.pipeline_named)),
    "CanContinue": _on_document(lambda door: lambda given: continuing(given, door.pipeline_named)),
    "Result": _on_document(lambda _door: result),
    "Validate": _on_document(lambda _door: validity),
}
"""All calls but Stream, by name."""
