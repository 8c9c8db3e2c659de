"""Carries frames to one peer in their order: by a link while there is one, by Ray calls otherwise.

Frames posted in one turn of the event loop go together. The cost of a Ray call hardly depends on its size, so few calls
are under way at once, and what is posted meanwhile shares the next one. The first batch on a new link waits for the
calls under way. When a link breaks, the batches that it has not answered are repeated, so that frames may arrive twice;
receivers drop copies.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Generic, TypeVar

from actors.links.link import Link
from runtime.errors import LinkLostError, WireError

MAX_BATCH_ITEMS = 256
MAX_BATCH_BYTES = 1_000_000
MAX_CONCURRENT_CALLS = 2

Outcome = TypeVar("Outcome")
Batch = list[tuple[bytes, "asyncio.Future[Outcome]"]]


class Carrier(Generic[Outcome]):
    """Carries to one peer. `by_ray`: frames → outcomes; `decode`: the same of a link's answer and a count of frames.

    A batch has up to `MAX_BATCH_ITEMS` frames, of `MAX_BATCH_BYTES` together or one alone. What a Ray call raises is
    raised for every frame that was in its batch, and for no other.
    """

    def __init__(
        self,
        by_ray: Callable[[list[bytes]], Awaitable[Sequence[Outcome]]],
        decode: Callable[[bytes, int], Sequence[Outcome]],
    ) -> None:
        self._by_ray = by_ray
        self._decode = decode
        self._waiting: deque[tuple[bytes, asyncio.Future[Outcome]]] = deque()
        self._calls: set[asyncio.Task[None]] = set()
        self._unanswered: dict[int, Batch[Outcome]] = {}
        self._numbers = itertools.count()
        self._is_due = False
        self._link: Link | None = None

    @property
    def has_link(self) -> bool:
        """True while batches go by a link."""
        return self._link is not None and self._link.is_open

    def use(self, link: Link | None) -> None:
        """Carry by this link from now on, and close the former one."""
        former, self._link = self._link, link
        if former is not None and former is not link:
            former.close()
            self._take_back()

    def post(self, frame: bytes) -> asyncio.Future[Outcome]:
        """Send a frame at the end of this turn of the event loop; the future gets its outcome."""
        outcome: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._waiting.append((frame, outcome))
        self._send_soon()
        return outcome

    async def send(self, frame: bytes) -> Outcome:
        """Return the outcome of a frame. Raises what the Ray call raised that carried it."""
        return await self.post(frame)

    def _send_soon(self) -> None:
        if not self._is_due:
            self._is_due = True
            asyncio.get_running_loop().call_soon(self._send_waiting)

    def _send_waiting(self) -> None:
        self._is_due = False
        if not self.has_link:
            self._take_back()
        while self._waiting:
            link = self._link
            if link is None or not link.is_open:
                if len(self._calls) >= MAX_CONCURRENT_CALLS:
                    return
                self._call(self._next_batch())
            elif self._calls:
                return
            elif not link.is_writable:
                link.when_writable(self._send_soon)
                return
            else:
                self._post(link, self._next_batch())

    def _next_batch(self) -> Batch[Outcome]:
        batch, size = [self._waiting.popleft()], 0
        while self._waiting and len(batch) < MAX_BATCH_ITEMS:
            size += len(batch[-1][0])
            if size + len(self._waiting[0][0]) > MAX_BATCH_BYTES:
                break
            batch.append(self._waiting.popleft())
        return batch

    def _post(self, link: Link, batch: Batch[Outcome]) -> None:
        try:
            answer = link.post([frame for frame, _ in batch])
        except WireError:
            self._call(batch)  # Ray also carries what is too large for a link
            return
        number = next(self._numbers)
        self._unanswered[number] = batch
        answer.add_done_callback(partial(self._answered, link, number))

    def _answered(self, link: Link, number: int, answer: asyncio.Future[bytes]) -> None:
        error = answer.exception()
        batch = self._unanswered.get(number)
        if batch is None:
            return  # it was taken back when the link broke
        try:
            if error is not None:
                raise error
            _settle(batch, self._decode(answer.result(), len(batch)))
        except (LinkLostError, WireError, ValueError):
            # The peer may be there still: what it did not answer is repeated in its order.
            if self._link is link:
                self._link = None
            link.close()
            self._take_back()
        else:
            del self._unanswered[number]

    def _take_back(self) -> None:
        """Queue the batches that a link did not answer before all others."""
        if self._unanswered:
            batches, self._unanswered = self._unanswered, {}
            self._waiting.extendleft(reversed([item for batch in batches.values() for item in batch]))
            self._send_soon()

    def _call(self, batch: Batch[Outcome]) -> None:
        task = asyncio.get_running_loop().create_task(self._called(batch))
        self._calls.add(task)
        task.add_done_callback(self._call_over)

    def _call_over(self, task: asyncio.Task[None]) -> None:
        self._calls.discard(task)
        self._send_waiting()

    async def _called(self, batch: Batch[Outcome]) -> None:
        try:
            _settle(batch, await self._by_ray([frame for frame, _ in batch]))
        except Exception as error:  # noqa: BLE001 - it is raised where the frames came from
            for _, outcome in batch:
                if not outcome.done():
                    outcome.set_exception(error)


def _settle(batch: Batch[Outcome], outcomes: Sequence[Outcome]) -> None:
    """Give each frame its outcome. Raises ValueError, and settles nothing, unless there is one for each."""
    for (_, future), outcome in list(zip(batch, outcomes, strict=True)):
        if not future.done():
            future.set_result(outcome)
