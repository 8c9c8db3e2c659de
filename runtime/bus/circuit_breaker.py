"""Implements the circuit breaker of one message type as a pure state machine.

    closed ──threshold reached──▶ open ──probe due──▶ half_open ──success──▶ closed
                                   ▲                      └──────failure──▶ open

The time is passed in. Only consecutive failures count. While the breaker is open, and while its one probe is in flight,
requests are not admitted; a probe that never reports its end makes room for the next after another `reset_timeout_s`.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from runtime.primitives.ids import MessageId

State = Literal["closed", "open", "half_open"]
Signal = Literal["success", "failure", "last_failure", "probe_due"]
Ending = Literal["success", "failure", "neither"]

# Other pairs leave the state as it is: late results of requests that were admitted before the breaker opened.
TRANSITIONS: dict[tuple[State, Signal], State] = {
    ("closed", "success"): "closed",
    ("closed", "failure"): "closed",
    ("closed", "last_failure"): "open",
    ("open", "probe_due"): "half_open",
    ("half_open", "probe_due"): "half_open",
    ("half_open", "success"): "closed",
    ("half_open", "last_failure"): "open",
}


class BreakerRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Configures when a breaker opens and for how long; `failure_threshold` 0 never opens."""

    failure_threshold: int = 5
    reset_timeout_s: float = 30.0
    excluded: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if self.failure_threshold < 0 or self.reset_timeout_s < 0:
            raise ValueError(
                f"a breaker needs a failure_threshold and a reset_timeout_s of 0 or more, "
                f"not {self.failure_threshold} and {self.reset_timeout_s:g}"
            )

    def guards(self, type_: str) -> bool:
        """Return True when messages of that type can open a breaker."""
        return self.failure_threshold > 0 and type_ not in self.excluded


class Breaker(msgspec.Struct, frozen=True):
    """Holds the state of one breaker.

    `failures` counts consecutive ones; `probe_at_ms` matters in every state but closed.
    """

    state: State = "closed"
    failures: int = 0
    probe: MessageId | None = None
    probe_at_ms: int = 0


CLOSED = Breaker()


def admit(rules: BreakerRules, breaker: Breaker, message_id: MessageId, now_ms: int) -> tuple[Breaker, bool]:
    """Return the breaker after a request arrived, and whether the request may pass."""
    if breaker.state == "closed":
        return breaker, True
    if now_ms < breaker.probe_at_ms:
        return breaker, False
    state = TRANSITIONS[breaker.state, "probe_due"]
    return Breaker(state, breaker.failures, message_id, now_ms + _reset_ms(rules)), True


def record(rules: BreakerRules, breaker: Breaker, message_id: MessageId, ending: Ending, now_ms: int) -> Breaker:
    """Return the breaker after an admitted request has ended; `neither` does not count for or against the handler."""
    probing = breaker.state == "half_open"
    if breaker.state == "open" or (probing and message_id != breaker.probe):
        return breaker
    if ending == "neither":
        return msgspec.structs.replace(breaker, probe=None, probe_at_ms=now_ms) if probing else breaker
    if ending == "success":
        return Breaker(TRANSITIONS[breaker.state, "success"])
    failures = breaker.failures + 1
    if probing or failures >= rules.failure_threshold:
        return Breaker(TRANSITIONS[breaker.state, "last_failure"], failures, None, now_ms + _reset_ms(rules))
    return Breaker(TRANSITIONS[breaker.state, "failure"], failures)


def _reset_ms(rules: BreakerRules) -> int:
    return round(rules.reset_timeout_s * 1000)
