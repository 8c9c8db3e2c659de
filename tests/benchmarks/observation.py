"""Switches what is seen of a system from outside on and off in its actors, between the rounds of a benchmark.

Without traces there are no spans; without metrics nothing is counted of the events of runs and of the bus's messages. A
running system has no such switch, so this one reaches into the actors; whoever renames what it reaches for sees the
benchmark fail.
"""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple

from actors.tracing import trace_export
from runtime.bus.builtin_middleware import Metrics
from runtime.hosting import write_batch
from runtime.hosting.run_meter import RunMeter
from runtime.primitives.spans import trace_to
from runtime.supervision.run_counts import Count, counts_of


class _NoMeter(RunMeter):
    """Counts no writes; what events add is not even found out."""

    def wrote(self, seconds: float) -> None:
        """Take no notice of a write."""


class Seen(NamedTuple):
    """Says what is seen of a system: its spans, at an `endpoint`, and its metrics."""

    endpoint: str | None = None
    is_counted: bool = False


async def switch(system: Any, seen: Seen) -> None:
    """Send spans and count from now on as `seen` says."""
    supervisors = [supervisor.handle for supervisor in system._supervisors]
    switched = [(supervisor, _switch_supervisor) for supervisor in supervisors]
    switched += [(system._bus, _switch_bus), *((agent, _switch_spans) for agent in system._agents)]
    await asyncio.gather(*(actor.__ray_call__.remote(act, seen) for actor, act in switched))


async def flush(system: Any) -> None:
    """Send the spans that are queued."""
    await asyncio.gather(*(supervisor.handle.flush_traces.remote() for supervisor in system._supervisors))


def _switch_spans(actor: Any, seen: Seen) -> None:
    if seen.endpoint is None:
        trace_to(None)
        return
    trace_export.export_traces(trace_export.TraceOptions(seen.endpoint), type(actor).__name__)
    assert trace_export._Export.exporter is not None
    trace_to(trace_export._Export.exporter.emit)


def _no_counts(*_: object) -> list[Count]:
    return []


def _switch_supervisor(actor: Any, seen: Seen) -> None:
    _switch_spans(actor, seen)
    found_out = vars(write_batch)
    assert found_out["counts_of"] in (counts_of, _no_counts)
    found_out["counts_of"] = counts_of if seen.is_counted else _no_counts
    for driven in actor._logs:
        driven.table._meter = actor._meter if seen.is_counted else _NoMeter()


def _switch_bus(actor: Any, seen: Seen) -> None:
    chain = actor._dispatcher._chain
    if not hasattr(actor, "told_at_first"):
        actor.told_at_first = list(chain._told)
    chain._told = [link for link in actor.told_at_first if seen.is_counted or type(link) is not Metrics]
