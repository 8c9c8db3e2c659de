"""What Prometheus is shown of the bus: from the numbers of a real bus without a transport, under a fake clock."""

from __future__ import annotations

from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from runtime.bus.builtin_middleware import build_chain
from runtime.bus.dispatcher import Dispatcher
from runtime.bus.frames import Frame, Header, encode_frame
from runtime.bus.routing_table import RoutingTable
from runtime.primitives.clock import FakeClock
from runtime.primitives.ids import Address, MessageId
from runtime.settings import Settings
from serve.http.answering.http_metrics import BusMetrics
from serve.wiring import bus_middleware


class Bus:
    """A bus, and what a scrape of its metrics shows: name with labels → value."""

    def __init__(self, **settings: Any) -> None:
        self.table = RoutingTable()
        middleware = bus_middleware(Settings.model_validate({"state_dir": "/nowhere", "bus": settings}))
        clock = FakeClock()
        self.dispatcher = Dispatcher(self.table, build_chain(middleware, clock), clock)
        self.registry = CollectorRegistry()
        self.metrics = BusMetrics(self.registry)
        self._sent = 0

    def send(self, kind: Any, type_: str, target: str | None = None) -> None:
        self._sent += 1
        header = Header(MessageId(f"m{self._sent}"), kind, type_, Address("asker"), Address(target) if target else None)
        self.dispatcher.dispatch(encode_frame(Frame(header, b"\x80")))

    def scraped(self) -> dict[str, float]:
        self.metrics.update(self.dispatcher.stats())
        return self.shown()

    def shown(self) -> dict[str, float]:
        lines = generate_latest(self.registry).decode().splitlines()
        return {
            name: float(value)
            for name, _, value in (line.rpartition(" ") for line in lines if not line.startswith("#"))
        }


def test_messages_dead_letters_parked_and_dropped_frames_are_counted() -> None:
    bus = Bus()
    bus.table.connect(Address("here"))
    bus.table.expect(Address("soon"))
    bus.send("command", "work", "here")
    bus.send("command", "work", "soon")
    bus.send("command", "work", "nobody")
    bus.send("event", "news")
    shown = bus.scraped()
    assert shown['jeeves_bus_messages_total{kind="command",outcome="accepted",type="work"}'] == 2
    assert shown['jeeves_bus_messages_total{kind="command",outcome="refused",type="work"}'] == 1
    assert shown['jeeves_bus_trouble_total{kind="dead_letter"}'] == 1
    assert shown['jeeves_bus_trouble_total{kind="dropped"}'] == 1
    assert shown['jeeves_bus_trouble_total{kind="parked"}'] == 1
    assert shown['jeeves_bus_trouble_total{kind="doubled"}'] == 0
    assert shown["jeeves_bus_parked_frames"] == 1
    assert shown['jeeves_bus_endpoints{presence="connected"}'] == 1
    assert shown['jeeves_bus_endpoints{presence="away"}'] == 1
    bus.table.connect(Address("soon"))
    shown = bus.scraped()
    assert (shown["jeeves_bus_parked_frames"], shown['jeeves_bus_trouble_total{kind="parked"}']) == (0, 1)


@pytest.mark.parametrize(("failures", "state"), [(2, 0), (3, 2)])
def test_the_state_of_the_breaker_of_a_type_that_fails_is_shown(failures: int, state: int) -> None:
    bus = Bus(breaker={"failure_threshold": 3})
    for _ in range(failures):
        bus.table.connect(Address("weak"), handles=("ask",))
        bus.table.connect(Address("asker"))
        bus.send("query", "ask")
        bus.dispatcher.mark_lost(Address("weak"), bus.table.incarnation(Address("weak")), for_good=True)
    assert bus.scraped()['jeeves_bus_breaker_state{type="ask"}'] == state


def test_a_breaker_that_excludes_a_type_never_opens_for_it() -> None:
    bus = Bus(breaker={"failure_threshold": 1, "excluded_types": ["ask"]})
    bus.table.connect(Address("weak"), handles=("ask",))
    bus.send("query", "ask")
    bus.dispatcher.mark_lost(Address("weak"), 1, for_good=True)
    assert not [name for name in bus.scraped() if name.startswith("jeeves_bus_breaker_state")]


@pytest.mark.parametrize(("types", "shown"), [(199, 199), (200, 200), (201, 201), (500, 201)])
def test_a_label_takes_few_values_however_many_types_there_are(types: int, shown: int) -> None:
    bus = Bus()
    for number in range(types):
        bus.send("event", f"news{number}")
    names = [name for name in bus.scraped() if name.startswith("jeeves_bus_messages_total")]
    assert len(names) == shown
    breakers = {f"t{number}": {"state": "open", "failures": 5, "refused": 0} for number in range(types)}
    bus.metrics.update(bus.dispatcher.stats() | {"middleware": {"circuit_breaker": breakers}})
    assert len([name for name in bus.shown() if name.startswith("jeeves_bus_breaker_state")]) == min(types, 200)


def test_without_the_metrics_middleware_messages_are_not_counted_and_the_rest_is() -> None:
    bus = Bus(middleware=["logging"])
    bus.send("event", "news")
    shown = bus.scraped()
    assert not [name for name in shown if name.startswith("jeeves_bus_messages")]
    assert shown['jeeves_bus_trouble_total{kind="dropped"}'] == 1


def test_a_bus_that_does_not_answer_is_not_up_and_says_nothing_else() -> None:
    bus = Bus()
    assert bus.shown() == {"jeeves_bus_up": 0}
    assert bus.scraped()["jeeves_bus_up"] == 1
    bus.metrics.update(None)
    assert bus.shown() == {"jeeves_bus_up": 0}
