"""Calls models by role, with retries, circuit breakers, fallbacks and fair turns between users.

Only calls that were not served are retried: at a busy server after the time that it names, at an unreachable one after
a growing pause, then at the role's fallbacks. A call that may have been served (an answer that broke off) is left to
the caller, who reserved one call.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing

import msgspec

from runtime.bus.circuit_breaker import CLOSED, Breaker, BreakerRules, Ending, admit, record
from runtime.errors import (
    ModelBrokeOffError,
    ModelBusyError,
    ModelDownError,
    ModelFailedError,
    ModelRefusedError,
)
from runtime.llm.call_metrics import CallMetrics, ModelStats, Outcome
from runtime.llm.call_spans import emit_model_call
from runtime.llm.messages import Completion, ModelRequest
from runtime.llm.model_file import ModelsFile, Role
from runtime.llm.places import LocalPlaces, Places
from runtime.llm.protocol import ModelBackend
from runtime.primitives.clock import Clock
from runtime.primitives.ids import MessageId

log = logging.getLogger(__name__)

# The outcome under which a failed call is counted: that of the first matching class. The rest are refusals.
_OUTCOMES: dict[type[ModelFailedError], Outcome] = {
    ModelBrokeOffError: "broke_off",
    ModelDownError: "down",
    ModelBusyError: "busy",
    ModelFailedError: "refused",
}
# The outcomes that the deployment's circuit breaker counts; the others do not show its health.
_ENDINGS: dict[Outcome, Ending] = {"served": "success", "broke_off": "failure", "down": "failure"}

OnText = Callable[[str], Awaitable[None]]


class RetryRules(msgspec.Struct, frozen=True):
    """Bounds the retries of calls that were not served, and the pauses before them."""

    max_attempts: int = 3
    first_pause_s: float = 0.5
    max_pause_s: float = 8.0
    max_retry_after_s: float = 30.0

    def pause_s(self, failed_attempts: int, error: ModelFailedError) -> float | None:
        """Return how long to wait after that many failures; None if this deployment is not to be retried."""
        if failed_attempts >= self.max_attempts or error.values.get("permanent"):
            return None
        asked_s = error.values.get("retry_after_s")
        if asked_s is not None:
            return float(asked_s) if asked_s <= self.max_retry_after_s else None
        return float(min(self.max_pause_s, self.first_pause_s * 2 ** (failed_attempts - 1)))


class ModelClient:
    """Calls models by role. `backends` maps the names of deployments in the model file to their backends.

    `places` limits concurrent calls; by default, to those that each deployment permits, of this client alone.
    """

    def __init__(
        self,
        models: ModelsFile,
        backends: Mapping[str, ModelBackend],
        clock: Clock,
        retry: RetryRules | None = None,
        breaker: BreakerRules | None = None,
        places: Places | None = None,
    ) -> None:
        self._models = models
        self._backends = backends
        self._clock = clock
        self._retry = retry or RetryRules()
        self._rules = breaker or BreakerRules()
        self._breakers: dict[str, Breaker] = dict.fromkeys(backends, CLOSED)
        self._places = places or LocalPlaces({name: models.deployments[name].concurrent for name in backends})
        self._calls = 0
        self._metrics = CallMetrics()

    def role(self, name: str) -> Role:
        """Return the settings of a role in the model file."""
        return self._models.role(name)

    def backend(self, role: str) -> ModelBackend:
        """Return the backend to count tokens by: the one with the shortest context among those of the role."""
        return min((self._backends[name] for name in self.behind(role)), key=lambda b: b.max_model_len)

    def cost_micro(self, deployment: str, tokens_in: int, tokens_out: int) -> int:
        """Return what a call at a deployment cost, in millionths of the currency; 0 for one without prices."""
        known = self._models.deployments.get(deployment)
        return 0 if known is None else known.cost_micro(tokens_in, tokens_out)

    def stats(self) -> ModelStats:
        """Return the counts of the calls and the states of the breakers."""
        return self._metrics.stats({name: breaker.state for name, breaker in self._breakers.items()})

    def behind(self, role: str, deployment: str | None = None) -> tuple[str, ...]:
        """Return the deployments of a role, in order; with `deployment`, only those after it."""
        used = self.role(role)
        names = (used.deployment, *used.fallbacks)
        return names[names.index(deployment) + 1 :] if deployment in names else names

    async def complete(
        self, role: str, request: ModelRequest, on_text: OnText | None = None, behind: str | None = None
    ) -> Completion:
        """Return the answer of the first deployment that serves the request; `on_text` gets it in pieces.

        `behind`: use only the deployments of the role after this one; there must be one.

        Raises the ModelFailedError of the last deployment. A ModelBrokeOffError names its `deployment`.
        """
        request = msgspec.structs.replace(request, in_pieces=on_text is not None)
        failure: ModelFailedError | None = None
        asked = behind
        for name in self.behind(role, behind):
            if asked is not None:
                self._metrics.passed_on(role, asked)
            asked = name
            try:
                return await self._served(role, name, request, on_text)
            except (ModelBusyError, ModelDownError, ModelRefusedError) as error:
                failure = error
                log.warning("model.not_served", extra={"deployment": name, "role": role, "reason": error.message})
        assert failure is not None
        raise failure

    async def close(self) -> None:
        """Close every backend, and give places back."""
        await self._places.close()
        for backend in self._backends.values():
            await backend.close()

    async def _served(self, role: str, name: str, request: ModelRequest, on_text: OnText | None) -> Completion:
        failed = 0
        while True:
            try:
                return await self._attempt(role, name, request, on_text)
            except (ModelBusyError, ModelDownError) as error:
                failed += 1
                pause_s = self._retry.pause_s(failed, error)
                if pause_s is None:
                    raise
            self._metrics.retried(role, name)
            await self._clock.sleep(pause_s)

    async def _attempt(self, role: str, name: str, request: ModelRequest, on_text: OnText | None) -> Completion:
        async with self._places.place(name, request.user_id):
            self._calls += 1
            call = MessageId(f"call-{self._calls}")
            self._breakers[name], may_pass = admit(self._rules, self._breakers[name], call, self._clock.now_ms())
            if not may_pass:
                self._metrics.ended(role, name, "stopped")
                raise ModelDownError(f"deployment '{name}' failed too often and is left alone for now", permanent=True)
            began_s, began_ms = self._clock.monotonic_s(), self._clock.now_ms()
            outcome: Outcome = "cancelled"
            completion: Completion | None = None
            try:
                completion = await self._streamed(name, request, on_text, began_s)
                outcome = "served"
                if cost_micro := self.cost_micro(name, completion.tokens_in, completion.tokens_out):
                    completion = msgspec.structs.replace(completion, cost_micro=cost_micro)
                self._metrics.served(role, name, completion, self._clock.monotonic_s() - began_s)
                return completion
            except ModelFailedError as error:
                error.values.setdefault("deployment", name)
                outcome = next(told for kind, told in _OUTCOMES.items() if isinstance(error, kind))
                raise
            finally:
                self._metrics.ended(role, name, outcome)
                ending, now_ms = _ENDINGS.get(outcome, "neither"), self._clock.now_ms()
                self._breakers[name] = record(self._rules, self._breakers[name], call, ending, now_ms)
                emit_model_call(role, name, outcome, completion, began_ms, now_ms)

    async def _streamed(self, name: str, request: ModelRequest, on_text: OnText | None, began_s: float) -> Completion:
        has_begun = False
        async with aclosing(self._backends[name].stream(request)) as pieces:
            async for piece in pieces:
                if isinstance(piece, Completion):
                    return piece
                if not has_begun:
                    has_begun = True
                    self._metrics.first_text(name, self._clock.monotonic_s() - began_s)
                if on_text is not None:
                    await on_text(piece.text)
        raise ModelBrokeOffError(f"deployment '{name}' ended its stream without a completion")
