"""Calls in processes of a pool: which process, how many at once, called off from outside."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Iterator

import pytest

from runtime.errors import ProcessDiedError, ProcessKilledError, ProcessTimeoutError, RepositoryError
from runtime.processes.worker_pool import Cancellation, WorkerPool
from tests.runtime.processes.living import CALLED, until_gone


@pytest.fixture
def pool() -> Iterator[WorkerPool]:
    made = WorkerPool(size=2, memory_bytes=512 * 2**20)
    yield made
    made.close()


async def test_calls_after_one_another_share_a_process(pool: WorkerPool) -> None:
    assert len({await pool.call(f"{CALLED}:process_id", {}) for _ in range(3)}) == 1


async def test_calls_at_once_have_a_process_each_and_one_is_kept(pool: WorkerPool) -> None:
    first, second = await asyncio.gather(*(pool.call(f"{CALLED}:process_id", {}) for _ in range(2)))
    assert first != second
    assert await pool.call(f"{CALLED}:process_id", {}) in (first, second)


async def test_errors_reach_the_coroutine(pool: WorkerPool) -> None:
    with pytest.raises(RepositoryError, match="no folder at /x"):
        await pool.call(f"{CALLED}:refuse", {"path": "/x"})


async def test_cancelling_the_coroutine_kills_the_process_and_the_next_call_has_another(pool: WorkerPool) -> None:
    loop = asyncio.get_running_loop()
    begun: asyncio.Future[int] = loop.create_future()
    call = asyncio.ensure_future(
        pool.call(f"{CALLED}:spin", {}, on_note=lambda pid: loop.call_soon_threadsafe(begun.set_result, pid))
    )
    pid = await begun
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert until_gone([pid]) == []
    assert await pool.call(f"{CALLED}:process_id", {}) != pid


@pytest.mark.long
async def test_a_full_pool_lets_the_next_call_wait_within_its_time(pool: WorkerPool) -> None:
    spinning = [asyncio.ensure_future(pool.call(f"{CALLED}:spin", {}, timeout_s=1.5)) for _ in range(2)]
    await asyncio.sleep(0)
    with pytest.raises(ProcessTimeoutError, match="no free process within 0"):
        await pool.call(f"{CALLED}:echo", {"value": 1}, timeout_s=0.2)
    assert await pool.call(f"{CALLED}:echo", {"value": 1}, timeout_s=60) == 1
    ended = await asyncio.gather(*spinning, return_exceptions=True)
    assert [type(each) for each in ended] == [ProcessTimeoutError] * 2


async def test_a_waiting_call_can_be_called_off(pool: WorkerPool) -> None:
    spinning = [asyncio.ensure_future(pool.call(f"{CALLED}:spin", {})) for _ in range(2)]
    await asyncio.sleep(0)
    waiting = asyncio.ensure_future(pool.call(f"{CALLED}:echo", {"value": 1}))
    await asyncio.sleep(0)
    for each in (waiting, *spinning):
        each.cancel()
    ended = await asyncio.gather(waiting, *spinning, return_exceptions=True)
    assert [type(each) for each in ended] == [asyncio.CancelledError] * 3
    assert await pool.call(f"{CALLED}:echo", {"value": 2}, timeout_s=60) == 2


async def test_a_process_that_died_is_replaced(pool: WorkerPool) -> None:
    with pytest.raises(ProcessDiedError):
        await pool.call(f"{CALLED}:end", {"number": 9})
    assert await pool.call(f"{CALLED}:echo", {"value": 1}) == 1


async def test_a_process_that_died_idle_is_replaced_unnoticed(pool: WorkerPool) -> None:
    pid = await pool.call(f"{CALLED}:process_id", {})
    os.kill(pid, signal.SIGKILL)
    assert until_gone([pid]) == []
    assert await pool.call(f"{CALLED}:process_id", {}) != pid


def test_a_call_of_a_thread_can_be_called_off_before_and_during(pool: WorkerPool) -> None:
    early = Cancellation()
    early.cancel()
    with pytest.raises(ProcessKilledError, match="before it began"):
        pool.call_blocking(f"{CALLED}:echo", {"value": 1}, cancellation=early)
    late = Cancellation()
    with pytest.raises(ProcessKilledError):
        pool.call_blocking(
            f"{CALLED}:spin",
            {},
            cancellation=late,
            on_note=lambda _: threading.Thread(target=late.cancel).start(),
        )


async def test_a_closed_pool_keeps_no_process(pool: WorkerPool) -> None:
    pid = await pool.call(f"{CALLED}:process_id", {})
    pool.close()
    assert until_gone([pid]) == []
