"""Adds the routes of OpenAI's API: POST /v1/chat/completions, GET /v1/models and /v1/models/{model}.

Annotations are evaluated here (no `from __future__`): FastAPI reads them from functions inside a function.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from functools import partial
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Header, Request

from runtime.primitives.clock import SystemClock
from runtime.primitives.ids import RunId
from serve.answer_document import Ask
from serve.http.access.callers import Caller, caller_of
from serve.http.answering.service import ChatMessage, Service, ask_of
from serve.http.answering.session_views import continue_session
from serve.http.chat_completions.completion import Chunks, Naming, completion_of, has_answer
from serve.http.chat_completions.completion_request import CompletionRequest
from serve.http.chat_completions.conversation import conversation_of
from serve.http.chat_completions.openai_errors import error_chunk
from serve.http.chat_completions.served_models import described, repository_of, served_models
from serve.http.connections.event_stream import EventStream
from serve.http.documents.idempotency import fingerprint
from serve.http.documents.problems import RefusedError
from serve.http.routes.chat_stream import FollowedRun, followed_run
from serve.http.routes.openapi import answers_of

Asking = Annotated[Caller, Depends(caller_of)]
Key = Annotated[str | None, Header(description="The same key gives the same run.")]

# They do not change what a run is: one key gives the same run with and without them.
_WAYS_OF_ANSWERING = {"stream", "stream_options"}


class Completions:
    """Answers chat completions by runs of a service."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._clock = SystemClock()
        self.models = served_models(service.spec.default_pipeline, service.spec.repositories)
        self.started_s = self._clock.now_ms() // 1000

    async def whole(
        self, body: CompletionRequest, caller: Caller, key: str | None, on_run: Callable[[RunId], None]
    ) -> dict[str, Any]:
        """Return the completion of a question."""
        ask, open_session = self._ask_of(body, caller)
        document = await self._service.answer(ask, caller, key, _fingerprint(body), on_run, open_session)
        _check_answered(document)
        return completion_of(document, self._naming(body, document["run_id"]))

    async def streamed(
        self, body: CompletionRequest, caller: Caller, key: str | None, on_run: Callable[[RunId], None]
    ) -> EventStream:
        """Return the stream of a question's completion. Raises before the first byte what refuses the request."""
        ask, open_session = self._ask_of(body, caller)
        give_back = self._service.stream_of(caller)
        try:
            run = await followed_run(self._service, ask, key, _fingerprint(body), on_run, prepare=open_session)
        except BaseException:
            give_back()
            raise
        chunks = Chunks(self._naming(body, run.run_id), body.has_usage)

        def as_error(error: Exception) -> str:
            return error_chunk(error, run.run_id, self._service.paths)

        return EventStream(_chunked(run, chunks), self._service.spec.http.stream_alive_s, give_back, as_error)

    def _ask_of(self, body: CompletionRequest, caller: Caller) -> tuple[Ask, Callable[[], Awaitable[None]]]:
        """Return the question of a request, and what prepares its session when its run is new."""
        message = ChatMessage(message=body.question, repo=repository_of(body.model, self.models))
        ask = ask_of(message, self._service.spec, caller)
        conversation = conversation_of(body.messages, caller.user_id, ask.repo, self._clock.now_ms())
        in_session = Ask(**{**_fields(ask), "session_id": conversation.session_id})
        return in_session, partial(continue_session, self._service.runs, caller.user_id, conversation)

    def _naming(self, body: CompletionRequest, run_id: str) -> Naming:
        repository = repository_of(body.model, self.models)
        return Naming(run_id, body.model, repository, self._clock.now_ms() // 1000)


def _fields(ask: Ask) -> dict[str, Any]:
    return {name: getattr(ask, name) for name in ask.__struct_fields__}


def _fingerprint(body: CompletionRequest) -> str:
    return fingerprint(body.model_dump(mode="json", exclude=_WAYS_OF_ANSWERING, exclude_none=True))


def _check_answered(document: dict[str, Any]) -> None:
    """Raise RefusedError for a run that failed or was cancelled: there is nothing to complete a chat with."""
    if not has_answer(document):
        raise RefusedError(500, "run_failed", f"run {document['run_id']}: {document['answer']}")


async def _chunked(run: FollowedRun, chunks: Chunks) -> AsyncGenerator[str, None]:
    yield chunks.first()
    async with aclosing(run.events()) as events:
        async for event in events:
            if event.type == "stage.started" and event.stage is not None:
                yield chunks.progress(event.stage)
    assert run.document is not None
    _check_answered(run.document)
    for chunk in chunks.answer(run.document):
        yield chunk


def add_chat_completions(api: FastAPI, service: Service) -> None:
    """Add the routes."""
    completions = Completions(service)

    @api.post("/v1/chat/completions", response_model=dict[str, Any], responses=answers_of("completion", streams=True))
    async def chat_completions(
        body: CompletionRequest, request: Request, caller: Asking, idempotency_key: Key = None
    ) -> Any:
        """Answer the last message of a conversation about a registered repository, as OpenAI's API does."""

        def on_run(run_id: RunId) -> None:
            request.state.run_id = run_id

        way = completions.streamed if body.stream else completions.whole
        return await way(body, caller, idempotency_key, on_run)

    @api.get("/v1/models", responses=answers_of("models"))
    async def models(_caller: Asking) -> dict[str, Any]:
        """List the models: a capability for each registered repository."""
        found = [described(model, completions.started_s) for model in completions.models]
        return {"object": "list", "data": found}

    @api.get("/v1/models/{model}", responses=answers_of("model"))
    async def model(model: str, _caller: Asking) -> dict[str, Any]:
        """Describe a model."""
        repository_of(model, completions.models)
        return described(model, completions.started_s)
