"""The model client of a process: roles → deployments, with retries, breakers, fallbacks and fair turns between users.

Only what was not served is tried again: a busy server after the time that it names, a dead one after a growing pause,
then the role's fallbacks. What may have been served (an answer that broke off) is up to the caller, who reserved one
call.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing

import msgspec

from runtime.breaker import CLOSED, Breaker, BreakerRules, admit, record
from runtime.clock import Clock
from runtime.errors import (
    ModelBrokeOffError,
    ModelBusyError,
    ModelDownError,
    ModelFailedError,
    ModelRefusedError,
)
from runtime.ids import MessageId
from runtime.llm.fair_share import FairShare
from runtime.llm.messages import Completion, ModelRequest
from runtime.llm.model_file import ModelsFile, Role
from runtime.llm.protocol import ModelBackend

log = logging.getLogger(__name__)

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
        self.counts: Counter[tuple[str, str]] = Counter()

    def role(self, name: str) -> Role:
        """How the model file sets up a role."""
        return self._models.role(name)

    def backend(self, role: str) -> ModelBackend:
        """The backend whose tokens count for a role: the one with the least room among those it may use."""
        used = self.role(role)
        return min((self._backends[name] for name in (used.deployment, *used.fallbacks)), key=lambda b: b.max_model_len)

    def breaker_state(self, deployment: str) -> str:
        """closed, open or half_open."""
        return self._breakers[deployment].state

    async def complete(self, role: str, request: ModelRequest, on_text: OnText | None = None) -> Completion:
        """The answer of the first deployment of the role that serves the request; `on_text` gets it in pieces.

        Raises ModelFailedError: what the last deployment said.
        """
        used = self.role(role)
        failure: ModelFailedError = ModelDownError(f"role '{role}' has no deployment")
        for name in (used.deployment, *used.fallbacks):
            try:
                return await self._served(name, request, on_text)
            except (ModelBusyError, ModelDownError, ModelRefusedError) as error:
                failure = error
                log.warning("model.not_served", extra={"deployment": name, "role": role, "reason": error.message})
        raise failure

    async def close(self) -> None:
        """Close every backend."""
        for backend in self._backends.values():
            await backend.close()

    async def _served(self, name: str, request: ModelRequest, on_text: OnText | None) -> Completion:
        failed = 0
        while True:
            try:
                return await self._attempt(name, request, on_text)
            except (ModelBusyError, ModelDownError) as error:
                failed += 1
                pause_s = self._retry.pause_s(failed, error)
                if pause_s is None:
                    raise
            self.counts[name, "retried"] += 1
            await self._clock.sleep(pause_s)

    async def _attempt(self, name: str, request: ModelRequest, on_text: OnText | None) -> Completion:
        async with self._shares[name].place(request.user_id):
            self._calls += 1
            call = MessageId(f"call-{self._calls}")
            self._breakers[name], may_pass = admit(self._rules, self._breakers[name], call, self._clock.now_ms())
            if not may_pass:
                self.counts[name, "stopped"] += 1
                raise ModelDownError(f"deployment '{name}' failed too often and is left alone for now", permanent=True)
            ending, kind = "neither", "cancelled"
            try:
                completion = await self._streamed(name, request, on_text)
                ending, kind = "success", "served"
                return completion
            except (ModelDownError, ModelBrokeOffError):
                ending, kind = "failure", "failed"
                raise
            except ModelFailedError:
                kind = "refused"
                raise
            finally:
                self.counts[name, kind] += 1
                now_ms = self._clock.now_ms()
                self._breakers[name] = record(self._rules, self._breakers[name], call, ending, now_ms)  # type: ignore[arg-type]

    async def _streamed(self, name: str, request: ModelRequest, on_text: OnText | None) -> Completion:
        async with aclosing(self._backends[name].stream(request)) as pieces:
            async for piece in pieces:
                if isinstance(piece, Completion):
                    return piece
                if on_text is not None:
                    await on_text(piece.text)
        raise ModelBrokeOffError(f"deployment '{name}' ended its stream without a completion")
