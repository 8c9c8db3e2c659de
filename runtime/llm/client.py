"""The model client of a process: roles → deployments, with retries, breakers, fallbacks and fair turns between users.

Only what was not served is tried again: a busy server after the time that it names, a dead one after a growing pause,
then the role's fallbacks. What may have been served (an answer that broke off) is up to the caller, who reserved one
call.
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
from runtime.llm.fair_share import FairShare
from runtime.llm.messages import Completion, ModelRequest
from runtime.llm.model_file import ModelsFile, Role
from runtime.llm.protocol import ModelBackend
from runtime.primitives.clock import Clock
from runtime.primitives.ids import MessageId

log = logging.getLogger(__name__)

# How a failed call is counted: the first kind that it is of. What is left is a refusal.
_OUTCOMES: dict[type[ModelFailedError], Outcome] = {
    ModelBrokeOffError: "broke_off",
    ModelDownError: "down",
    ModelBusyError: "busy",
    ModelFailedError: "refused",
}
# What an outcome says of the deployment's health; the others say nothing.
_ENDINGS: dict[Outcome, Ending] = {"served": "success", "broke_off": "failure", "down": "failure"}

OnText = Callable[[str], Awaitable[None]]


class RetryRules(msgspec.Struct, frozen=True):
    """How often and after what pauses a deployment is asked again when it served nothing."""

    max_attempts: int = 3
    first_pause_s: float = 0.5
    max_pause_s: float = 8.0
    max_retry_after_s: float = 30.0

    def pause_s(self, failed_attempts: int, error: ModelFailedError) -> float | None:
        """How long to wait after that many failures, or None: do not ask this deployment again."""
        if failed_attempts >= self.max_attempts or error.values.get("permanent"):
            return None
        asked_s = error.values.get("retry_after_s")
        if asked_s is not None:
            return float(asked_s) if asked_s <= self.max_retry_after_s else None
        return float(min(self.max_pause_s, self.first_pause_s * 2 ** (failed_attempts - 1)))


class ModelClient:
    """Calls models by role. `backends`: deployment → backend, as the model file names them."""

    def __init__(
        self,
        models: ModelsFile,
        backends: Mapping[str, ModelBackend],
        clock: Clock,
        retry: RetryRules | None = None,
        breaker: BreakerRules | None = None,
    ) -> None:
        self._models = models
        self._backends = backends
        self._clock = clock
        self._retry = retry or RetryRules()
        self._rules = breaker or BreakerRules()
        self._breakers: dict[str, Breaker] = dict.fromkeys(backends, CLOSED)
        self._shares = {name: FairShare(models.deployments[name].concurrent) for name in backends}
        self._calls = 0
        self._metrics = CallMetrics()

    def role(self, name: str) -> Role:
        """How the model file sets up a role."""
        return self._models.role(name)

    def backend(self, role: str) -> ModelBackend:
        """The backend whose tokens count for a role: the one with the least room among those it may use."""
        return min((self._backends[name] for name in self.behind(role)), key=lambda b: b.max_model_len)

    def stats(self) -> ModelStats:
        """What has been counted of the calls, and where the breakers stand."""
        return self._metrics.stats({name: breaker.state for name, breaker in self._breakers.items()})

    def behind(self, role: str, deployment: str | None = None) -> tuple[str, ...]:
        """The deployments that a role may use, in order; those behind `deployment` where one is named."""
        used = self.role(role)
        names = (used.deployment, *used.fallbacks)
        return names[names.index(deployment) + 1 :] if deployment in names else names

    async def complete(
        self, role: str, request: ModelRequest, on_text: OnText | None = None, behind: str | None = None
    ) -> Completion:
        """The answer of the first deployment of the role that serves the request; `on_text` gets it in pieces.

        `behind`: only deployments behind this one, which there must be, are asked.

        Raises ModelFailedError: what the last deployment said. A ModelBrokeOffError names its `deployment`.
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
        """Close every backend."""
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
        async with self._shares[name].place(request.user_id):
            self._calls += 1
            call = MessageId(f"call-{self._calls}")
            self._breakers[name], may_pass = admit(self._rules, self._breakers[name], call, self._clock.now_ms())
            if not may_pass:
                self._metrics.ended(role, name, "stopped")
                raise ModelDownError(f"deployment '{name}' failed too often and is left alone for now", permanent=True)
            began_s = self._clock.monotonic_s()
            outcome: Outcome = "cancelled"
            try:
                completion = await self._streamed(name, request, on_text, began_s)
                outcome = "served"
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
