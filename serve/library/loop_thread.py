"""Runs coroutines on an event loop in a thread of its own, for callers that cannot await them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Coroutine, Generator, Sequence
from typing import Any, Final, TypeVar

from runtime.errors import InputError

T = TypeVar("T")


class _End:
    """Marks the end of a generator."""


_END: Final = _End()


class LoopThread:
    """Keeps an event loop running in a daemon thread until it is closed."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="jeeves-library", daemon=True)
        self._thread.start()

    @property
    def is_closed(self) -> bool:
        """Return whether the loop has stopped for good."""
        return self._loop.is_closed()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of a coroutine. If this is interrupted, the coroutine is cancelled and has ended."""
        if self._loop.is_closed():
            work.close()
            raise InputError("this door is closed; open another one")
        begun: list[asyncio.Task[T]] = []
        try:
            return self._result(_outcome(work, begun))
        except BaseException:
            # An interrupt may come at any instruction. What was submitted before has run on the loop before this does.
            self._result(_cancelled(begun))
            if not begun:
                work.close()
            raise

    def iterate(self, items: AsyncGenerator[T, None]) -> Generator[T, None, None]:
        """Yield the items of an asynchronous generator, which is closed when this one is."""
        try:
            while not isinstance(item := self.run(_next(items)), _End):
                yield item
        finally:
            if not self._loop.is_closed():
                self.run(_closed(items))

    def close(self) -> None:
        """Stop the loop once its tasks have ended. A second call does nothing."""
        if self._loop.is_closed():
            return
        self._result(_all_ended())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _result(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


async def _outcome(work: Coroutine[Any, Any, T], begun: list[asyncio.Task[T]]) -> T:
    begun.append(asyncio.create_task(work))
    return await begun[0]


async def _cancelled(tasks: Sequence[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await _ended(set(tasks))


async def _ended(tasks: set[asyncio.Task[Any]]) -> None:
    await asyncio.gather(*tasks, return_exceptions=True)


async def _next(items: AsyncGenerator[T, None]) -> T | _End:
    return await anext(items, _END)


async def _closed(items: AsyncGenerator[Any, None]) -> None:
    await items.aclose()


async def _all_ended() -> None:
    left = {task for task in asyncio.all_tasks() if task is not asyncio.current_task()}
    for task in left:
        task.cancel()
    await _ended(left)
    loop = asyncio.get_running_loop()
    await loop.shutdown_asyncgens()
    await loop.shutdown_default_executor()
