"""A replica that Ray Serve stops: what it answers ends within Serve's grace, and is told where its run goes on."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest
from ray._private.worker import global_worker

from serve.deployed.replica_stop import close_once_stopping, drain_s_within, stopping_seen
from serve.http.connections.listening import DRAIN_S, SETTLE_S


@pytest.mark.parametrize(
    ("grace_s", "drain_s"),
    [(0, 0), (SETTLE_S, 0), (SETTLE_S + 1, 1), (SETTLE_S + DRAIN_S, DRAIN_S), (SETTLE_S + DRAIN_S + 1, DRAIN_S)],
)
def test_calls_may_end_by_themselves_while_there_is_time_to_refuse_them_after(grace_s: float, drain_s: float) -> None:
    assert drain_s_within(grace_s) == drain_s


async def test_the_door_closes_once_the_replica_stops_and_not_before() -> None:
    looked: list[bool] = []
    closing = asyncio.Event()

    def is_stopping() -> bool:
        looked.append(closing.is_set())
        return len(looked) == 2

    await close_once_stopping(is_stopping, closing, 0)
    assert looked == [False, False]
    assert closing.is_set()


def test_a_process_that_is_no_replica_is_not_watched() -> None:
    assert stopping_seen() is None


def test_a_replica_is_seen_to_stop_where_ray_serve_notes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    replica = SimpleNamespace(_replica_impl=SimpleNamespace(_shutting_down=False))
    monkeypatch.setitem(global_worker.actors, global_worker.actor_id, replica)
    is_stopping = stopping_seen()
    assert is_stopping is not None
    assert not is_stopping()
    replica._replica_impl._shutting_down = True
    assert is_stopping()
