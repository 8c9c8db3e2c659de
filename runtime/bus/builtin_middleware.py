"""Provides the built-in middleware and builds chains of it from settings.

Deduplication goes first, so that no other middleware takes a copy for a second request; the circuit breaker goes last,
so that what it stops is seen and counted by the others.
"""

from __future__ import annotations

import logging
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from runtime.bus import circuit_breaker as breakers
from runtime.bus.circuit_breaker import CLOSED, Breaker, BreakerRules, Ending
from runtime.bus.frames import Header
from runtime.bus.middleware import CONTINUE, Chain, Drop, Middleware, Outcome, Replace, Stop, Verdict
from runtime.errors import CircuitOpenError, SettingsError
from runtime.primitives.clock import Clock
from runtime.primitives.counters import LabelledCounter
from runtime.primitives.ids import MessageId
from runtime.primitives.metrics import BUS_MESSAGES

log = logging.getLogger(__name__)

REMEMBERED_MESSAGES = 20_000

# Other outcomes do not depend on the handler: there was none, or the asker gave up.
ENDINGS: dict[Outcome, Ending] = {
    "answered": "success",
    "rejected": "success",
    "failed": "failure",
    "timeout": "failure",
}

_WENT_NOWHERE: frozenset[Outcome] = frozenset({"refused", "full", "stopped"})
_QUIET: frozenset[Outcome] = frozenset({"answered", "rejected", "accepted", "dropped", "cancelled"})


class Deduplication(Middleware):
    """Drops a message whose id is among the last `remember` ones seen."""

    name = "deduplication"

    def __init__(self, remember: int = REMEMBERED_MESSAGES) -> None:
        self._remember = remember
        self._seen: OrderedDict[MessageId, None] = OrderedDict()
        self._doubled = 0

    def before(self, header: Header) -> Verdict:
        """Drop a copy, remember an original."""
        if header.message_id in self._seen:
            self._doubled += 1
            return Drop()
        self._seen[header.message_id] = None
        if len(self._seen) > self._remember:
            self._seen.popitem(last=False)
        return CONTINUE

    def after(self, header: Header, outcome: Outcome) -> None:
        """Forget an undelivered message, so that its sender gets the same outcome when it sends it again."""
        if outcome in _WENT_NOWHERE:
            self._seen.pop(header.message_id, None)

    def stats(self) -> Mapping[str, Any]:
        """Return the number of remembered ids and of dropped copies."""
        return {"remembered": len(self._seen), "doubled": self._doubled}


class Tracing(Middleware):
    """Starts a trace for each message that has none; endpoints continue it."""

    name = "tracing"

    def before(self, header: Header) -> Verdict:
        """Let a trace pass, or start one that is named after the message."""
        if header.trace_id is not None:
            return CONTINUE
        return Replace(msgspec.structs.replace(header, trace_id=header.message_id))


class Logging(Middleware):
    """Writes one log line per outcome: a warning for unexpected outcomes, debug otherwise."""

    name = "logging"

    def after(self, header: Header, outcome: Outcome) -> None:
        """Log the outcome of a message."""
        level = logging.DEBUG if outcome in _QUIET else logging.WARNING
        if log.isEnabledFor(level):
            fields = {name: getattr(header, name) for name in ("message_id", "kind", "type", "source", "target")}
            fields |= {"run_id": header.run_id, "trace_id": header.trace_id, "parent_id": header.parent_id}
            log.log(level, "message.outcome", extra=fields | {"outcome": outcome})


class Metrics(Middleware):
    """Counts messages by kind, type and outcome."""

    name = "metrics"

    def __init__(self) -> None:
        self.messages = LabelledCounter.of(BUS_MESSAGES)

    def after(self, header: Header, outcome: Outcome) -> None:
        """Count a message."""
        self.messages.count(1, (header.kind, header.type, outcome))

    def stats(self) -> Mapping[str, Any]:
        """Return the counts, as samples."""
        return {self.messages.name: [msgspec.to_builtins(sample) for sample in self.messages.samples()]}


class CircuitBreaker(Middleware):
    """Stops queries of a type whose handler failed too often in a row.

    Only queries: an event has many handlers, and the success of a command is not reported, so consecutive failures
    cannot be recognised. Types that do not fail take no memory.
    """

    name = "circuit_breaker"

    def __init__(self, clock: Clock, rules: BreakerRules | None = None) -> None:
        self._clock = clock
        self._rules = rules or BreakerRules()
        self._breakers: dict[str, Breaker] = {}
        self._refused: Counter[str] = Counter()

    def before(self, header: Header) -> Verdict:
        """Stop a query while its breaker is open."""
        if not self._guards(header):
            return CONTINUE
        known = self._breakers.get(header.type, CLOSED)
        breaker, admitted = breakers.admit(self._rules, known, header.message_id, self._now_ms())
        self._keep(header.type, breaker)
        if admitted:
            return CONTINUE
        self._refused[header.type] += 1
        error = self._error(header, breaker)
        return Stop(error.message, error)

    def after(self, header: Header, outcome: Outcome) -> None:
        """Record the outcome of a query in its breaker."""
        if self._guards(header):
            breaker = self._breakers.get(header.type, CLOSED)
            ending = ENDINGS.get(outcome, "neither")
            self._keep(header.type, breakers.record(self._rules, breaker, header.message_id, ending, self._now_ms()))

    def stats(self) -> Mapping[str, Any]:
        """Return state, consecutive failures and refusals of each type that is failing now."""
        return {
            type_: {"state": breaker.state, "failures": breaker.failures, "refused": self._refused[type_]}
            for type_, breaker in self._breakers.items()
        }

    def _guards(self, header: Header) -> bool:
        return header.kind == "query" and self._rules.guards(header.type)

    def _keep(self, type_: str, breaker: Breaker) -> None:
        if breaker == CLOSED:
            self._breakers.pop(type_, None)
            self._refused.pop(type_, None)
        else:
            self._breakers[type_] = breaker

    def _error(self, header: Header, breaker: Breaker) -> CircuitOpenError:
        probe_in_s = max(0, breaker.probe_at_ms - self._now_ms()) / 1000
        return CircuitOpenError(
            f"'{header.type}' failed {breaker.failures} times in a row; it is tried again in {probe_in_s:g} s",
            type=header.type,
            by=self.name,
            reason="circuit open",
            probe_in_s=probe_in_s,
            probe_at_ms=self._clock.now_ms() + round(probe_in_s * 1000),
        )

    def _now_ms(self) -> int:
        return round(self._clock.monotonic_s() * 1000)


MakeMiddleware = Callable[[Clock, Mapping[str, Any], frozenset[str]], Middleware]


class _DeduplicationOptions(msgspec.Struct, forbid_unknown_fields=True):
    remember: int = REMEMBERED_MESSAGES


def _deduplication(clock: Clock, options: Mapping[str, Any], _exempt: frozenset[str]) -> Middleware:
    return Deduplication(msgspec.convert(options, _DeduplicationOptions).remember)


def _circuit_breaker(clock: Clock, options: Mapping[str, Any], exempt: frozenset[str]) -> Middleware:
    rules = msgspec.convert(options, BreakerRules)
    return CircuitBreaker(clock, msgspec.structs.replace(rules, excluded=rules.excluded | exempt))


def _plain(kind: Callable[[], Middleware]) -> MakeMiddleware:
    def make(clock: Clock, options: Mapping[str, Any], exempt: frozenset[str]) -> Middleware:
        if options:
            raise ValueError(f"it takes no options, not {', '.join(sorted(options))}")
        return kind()

    return make


SHIPPED: dict[str, MakeMiddleware] = {
    Deduplication.name: _deduplication,
    Tracing.name: _plain(Tracing),
    Logging.name: _plain(Logging),
    Metrics.name: _plain(Metrics),
    CircuitBreaker.name: _circuit_breaker,
}

DEFAULT_CHAIN: tuple[dict[str, Any], ...] = tuple({"use": name} for name in SHIPPED)


def build_chain(specs: Iterable[Mapping[str, Any]], clock: Clock, exempt: Iterable[str] = ()) -> Chain:
    """Build the chain that plain data describes: `{"use": name, **options}` for each. Raises SettingsError.

    `exempt`: message types that no circuit breaker may stop, whatever the options say.
    """
    links = []
    spared = frozenset(exempt)
    for spec in specs:
        options = dict(spec)
        name = options.pop("use", None)
        if name not in SHIPPED:
            raise SettingsError(f"no middleware is named '{name}'; known: {', '.join(SHIPPED)}", name=name)
        try:
            links.append(SHIPPED[name](clock, options, spared))
        except (ValueError, msgspec.ValidationError) as error:
            raise SettingsError(f"middleware '{name}': {error}", name=name) from error
    return Chain(links)
