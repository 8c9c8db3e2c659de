"""Whoever is shown how far an index is, is also told that it is there."""

from __future__ import annotations

import asyncio
from typing import Any

from runtime.codebase.index.progress import Progress
from serve.runtimes.answering import AskCallbacks, prepared


async def told_of(*states: Progress) -> list[tuple[int, int]]:
    """What is told of an index that has these states, one at each look, and is ready after the last of them."""
    told: list[tuple[int, int]] = []
    left, is_ready = list(states), asyncio.Event()

    async def refresh() -> dict[str, Any]:
        await is_ready.wait()
        return {"files": 2}

    async def progress() -> Progress:
        state = left.pop(0)
        if not left:
            is_ready.set()
        return state

    def indexing(done: int, total: int) -> None:
        told.append((done, total))

    assert await prepared(refresh(), progress, AskCallbacks(on_indexing=indexing)) == {"files": 2}
    return told


async def test_an_index_that_is_ready_between_two_looks_is_told_as_ready() -> None:
    assert await told_of(Progress(), Progress(0, 2), Progress(1, 2)) == [(0, 2), (1, 2), (2, 2)]


async def test_of_an_index_that_was_up_to_date_nothing_is_told() -> None:
    assert await told_of(Progress()) == []
