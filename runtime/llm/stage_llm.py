"""Provides an agent's hook with its model (`ctx.llm`); tokens are reserved before each call."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Generic, TypeVar

import msgspec
from pydantic import BaseModel

from runtime.errors import BudgetExhaustedError, InvalidOutputError, ModelBrokeOffError, ModelFailedError
from runtime.llm.client import ModelClient, OnText
from runtime.llm.kept_answers import KeptAnswers
from runtime.llm.messages import Completion, Message, ModelRequest, Sampling
from runtime.llm.structured import bounded_schema, read_object
from runtime.llm.tokens import TokenCounter, count_messages
from runtime.primitives.clock import Clock, wait_at_most
from runtime.run.stage_budget import StageBudget

Shape = TypeVar("Shape", bound=BaseModel)

# Called with the whole text of the answer so far, each time it has grown.
OnWritten = Callable[[str], None]

# No useful answer fits into fewer tokens.
MIN_ANSWER_TOKENS = 16

# The share of a stage's time that its model may take; the rest is left for the fallback to rules.
SHARE_OF_TIME = 0.8


class ModelAsked(msgspec.Struct, frozen=True):
    """Names the role of an agent's model, and the settings of the agent that override the role's."""

    role: str
    temperature: float | None = None
    max_tokens: int | None = None


class Answered(msgspec.Struct, Generic[Shape], frozen=True):
    """Carries an object that a model returned, and the number of calls that it took."""

    object: Shape
    completion: Completion
    calls: int


class StageLlm:
    """Calls the model for one attempt of a stage."""

    def __init__(
        self,
        client: ModelClient,
        asked: ModelAsked,
        budget: StageBudget,
        request_id: str,
        user_id: str,
        clock: Clock,
        deadline_ms: int,
        kept: KeptAnswers | None = None,
    ) -> None:
        """Bind the model to an attempt. `kept`: answers of earlier attempts; without it every call is made."""
        self._clock = clock
        self._until_ms = clock.now_ms() + round(SHARE_OF_TIME * (deadline_ms - clock.now_ms()))
        role = client.role(asked.role)
        self._client = client
        self._role = asked.role
        self._budget = budget
        self._request_id = request_id
        self._user_id = user_id
        self._kept = kept
        self._calls = 0
        self._temperature = role.temperature if asked.temperature is None else asked.temperature
        self._max_tokens = min(role.max_tokens, asked.max_tokens or role.max_tokens)
        self._backend = client.backend(asked.role)

    @property
    def counter(self) -> TokenCounter:
        """The token counter of the model."""
        return self._backend.counter

    @property
    def room_tokens(self) -> int:
        """The most tokens of a prompt that leave room for the longest answer and a second try at it."""
        return max(0, self._backend.max_model_len - 2 * self._max_tokens)

    def shares_model_with(self, role: str) -> bool:
        """Return whether calls of that role go to the same deployment as those of this agent."""
        return self._client.role(role).deployment == self._client.role(self._role).deployment

    async def generate(
        self, messages: Sequence[Message], schema: dict[str, Any] | None = None, on_written: OnWritten | None = None
    ) -> Completion:
        """Call the model once. Tokens are reserved first; those that the call did not use are returned to the budget.

        A call that an earlier attempt made with the same request is not repeated: its answer costs nothing more.
        `on_written` gets the text so far as it grows; when the answer starts over (fallback, second try), so does it.

        Raises BudgetExhaustedError before anything is sent, ModelFailedError when there is no answer.
        """
        self._calls += 1
        number = self._calls
        prompt_tokens = count_messages(self.counter, messages)
        answer_tokens = min(self._max_tokens, self._backend.max_model_len - prompt_tokens)
        if answer_tokens < MIN_ANSWER_TOKENS:
            raise ModelFailedError(
                f"the prompt has {prompt_tokens} tokens, the model takes {self._backend.max_model_len} with the answer",
                actual=prompt_tokens,
                allowed=self._backend.max_model_len,
            )
        sampling = Sampling(answer_tokens, self._temperature)
        request = ModelRequest(f"{self._request_id}-{number}", tuple(messages), sampling, schema, self._user_id)
        if self._kept is None:
            return await self._call_with_fallbacks(request, prompt_tokens, on_written)
        place = self._kept.key_of(number, self._role, request)
        completion = await self._kept.find(place)
        if completion is not None:
            self._budget.book_replayed(completion.tokens_in, completion.tokens_out, completion.cost_micro)
            if on_written is not None:
                on_written(completion.text)
            return completion
        completion = await self._call_with_fallbacks(request, prompt_tokens, on_written)
        await self._kept.keep(place, completion)
        return completion

    async def _call_with_fallbacks(
        self, request: ModelRequest, prompt_tokens: int, on_written: OnWritten | None
    ) -> Completion:
        """Call the model; if an answer breaks off, call the role's fallbacks, each under a reservation of its own."""
        broke_off: ModelBrokeOffError | None = None
        while True:
            behind = None if broke_off is None else broke_off.values["deployment"]
            try:
                return await self._call_once(request, prompt_tokens, on_written, behind)
            except ModelBrokeOffError as error:
                at = error.values.get("deployment")  # none where the stage's time was over
                if at is None or not self._client.behind(self._role, at):
                    raise
                broke_off = error
            except BudgetExhaustedError as error:
                if broke_off is None:
                    raise
                raise broke_off from error

    async def _call_once(
        self, request: ModelRequest, prompt_tokens: int, on_written: OnWritten | None, behind: str | None
    ) -> Completion:
        reserved = prompt_tokens + request.sampling.max_tokens
        await self._budget.take_llm_call(reserved)
        # A call that was cancelled or broke off may have used its whole prompt.
        spent, cost_micro = (prompt_tokens, 0), self._cost_micro(behind, prompt_tokens, 0)
        try:
            completion = await self._in_time(
                self._client.complete(self._role, request, _joined_pieces(on_written), behind)
            )
            spent, cost_micro = (completion.tokens_in, completion.tokens_out), completion.cost_micro
        except ModelFailedError as error:
            taken = prompt_tokens if isinstance(error, ModelBrokeOffError) else 0
            spent = (error.values.get("tokens_in", taken), error.values.get("tokens_out", 0))
            at = error.values.get("deployment")
            cost_micro = self._client.cost_micro(at, *spent) if at is not None else self._cost_micro(behind, *spent)
            raise
        finally:
            self._budget.book_tokens(reserved, *spent, cost_micro)
        return completion

    def _cost_micro(self, behind: str | None, tokens_in: int, tokens_out: int) -> int:
        """Return what a call cost that named no deployment: that of the first one that it was sent to."""
        return self._client.cost_micro(self._client.behind(self._role, behind)[0], tokens_in, tokens_out)

    async def _in_time(self, answering: Coroutine[Any, Any, Completion]) -> Completion:
        left_s = (self._until_ms - self._clock.now_ms()) / 1000
        try:
            return await wait_at_most(self._clock, max(0.0, left_s), answering)
        except TimeoutError as error:
            raise ModelBrokeOffError("the model did not answer within the time of its stage") from error

    async def generate_object(
        self,
        messages: Sequence[Message],
        shape: type[Shape],
        choices: dict[str, list[str]] | None = None,
        on_written: OnWritten | None = None,
    ) -> Answered[Shape]:
        """Return an object of `shape`, its fields limited to `choices`; an answer that does not fit is retried once.

        Raises InvalidOutputError if the second does not fit either, and what `generate` raises.
        """
        schema = bounded_schema(shape, choices)
        completion = await self.generate(messages, schema, on_written)
        try:
            return Answered(read_object(completion.text, shape, schema), completion, 1)
        except InvalidOutputError as error:
            problem = str(error.values["problem"])
            if completion.finish_reason == "length":
                problem = f"it was cut off at {completion.tokens_out} tokens: be brief"
        mending = [*messages, *self._repair_request(messages, completion.text, problem)]
        try:
            completion = await self.generate(mending, schema, on_written)
        except BudgetExhaustedError as error:
            raise InvalidOutputError(f"{problem}, and no call is left to mend it", problem=problem) from error
        return Answered(read_object(completion.text, shape, schema), completion, 2)

    def _repair_request(self, messages: Sequence[Message], text: str, problem: str) -> list[Message]:
        told = f"That answer cannot be used: {problem}\nGive the whole JSON object again, and nothing else."
        taken = count_messages(self.counter, [*messages, Message("assistant", ""), Message("user", told)])
        room = self._backend.max_model_len - taken - self._max_tokens
        return [Message("assistant", self.counter.cut(text, max(0, room)) or "{"), Message("user", told)]


def _joined_pieces(on_written: OnWritten | None) -> OnText | None:
    """Return a callback that joins the pieces of one answer for `on_written`."""
    if on_written is None:
        return None
    parts: list[str] = []

    async def on_text(piece: str) -> None:
        parts.append(piece)
        on_written("".join(parts))

    return on_text
