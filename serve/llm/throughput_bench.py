"""Compares an engine's throughput with that behind our client and a Ray Serve handle.

All variants are measured in one run on one replica. The bare engine is driven inside the replica's process, without
client, handle, scheduling or messages; so is the deployment's own path, with scheduling and messages but neither client
nor handle. Rounds alternate, so that other load affects all variants. Time to first text is measured, not to first
token, which may be half a character.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

import msgspec

from runtime.llm.client import ModelClient
from runtime.llm.messages import Message, ModelRequest, Sampling

# Pieces of text with the number of their tokens.
Stream = Callable[[ModelRequest], AsyncIterator[tuple[str, int]]]

PROMPT = "Say which of these functions is called first, and by whom. " * 8


class Measured(msgspec.Struct, frozen=True):
    """Records one round: its duration, the tokens written, and the time to the first text of each answer."""

    seconds: float
    tokens_out: int
    first_s: list[float]


class Compared(msgspec.Struct, frozen=True):
    """Reports medians over all rounds of `concurrent` requests each.

    `share`: our tokens/s over the bare engine's, with streamed answers; `whole_share`: with answers that are not
    streamed. Times to first text: behind client and handle, of the deployment's own path in its process, the difference
    of these two, and of the bare engine.
    """

    concurrent: int
    requests_per_s: float
    tokens_per_s: float
    bare_tokens_per_s: float
    share: float
    whole_share: float
    first_ms: float
    in_process_first_ms: float
    added_first_ms: float
    bare_first_ms: float


class Rounds(msgspec.Struct):
    """Collects the measurements of each variant, in order."""

    ours: list[Measured] = []
    whole: list[Measured] = []
    in_process: list[Measured] = []
    bare: list[Measured] = []


def requests_of(concurrent: int, tokens: int, round_number: int) -> list[ModelRequest]:
    """Return requests that differ from each other, of the same length in every round."""
    return [
        ModelRequest(
            f"bench-{round_number}-{number}",
            (Message("system", PROMPT), Message("user", f"Round {round_number}, request {number}.")),
            Sampling(tokens, 1.0, number),
        )
        for number in range(concurrent)
    ]


async def all_at_once(requests: Iterable[ModelRequest], stream: Stream) -> Measured:
    """Run all requests concurrently; `stream` yields each answer in pieces of text with their number of tokens."""
    first_s: list[float] = []

    async def one(request: ModelRequest) -> int:
        started_s, tokens, seen = time.perf_counter(), 0, False
        async for text, count in stream(request):
            if text and not seen:
                first_s.append(time.perf_counter() - started_s)
                seen = True
            tokens += count
        return tokens

    started_s = time.perf_counter()
    tokens = await asyncio.gather(*(one(request) for request in requests))
    return Measured(time.perf_counter() - started_s, sum(tokens), first_s)


async def through_client(client: ModelClient, requests: Iterable[ModelRequest], watched: bool = True) -> Measured:
    """Run all requests concurrently through the client; answers are streamed if `watched`."""
    first_s: list[float] = []

    async def one(request: ModelRequest) -> int:
        started_s, seen = time.perf_counter(), False

        async def on_text(_text: str) -> None:
            nonlocal seen
            if not seen:
                first_s.append(time.perf_counter() - started_s)
                seen = True

        return (await client.complete("default", request, on_text if watched else None)).tokens_out

    started_s = time.perf_counter()
    tokens = await asyncio.gather(*(one(request) for request in requests))
    return Measured(time.perf_counter() - started_s, sum(tokens), first_s)


async def compare(client: ModelClient, server: Any, concurrent: int, tokens: int, rounds: int) -> Compared:
    """Measure all four variants, `rounds` times each after a warm-up. `server`: the handle of the same deployment."""

    async def inside(method: Any, requests: list[ModelRequest]) -> Measured:
        return msgspec.msgpack.decode(await method.remote(msgspec.msgpack.encode(requests)), type=Measured)

    found = Rounds()
    for number in range(0, 4 * (rounds + 1), 4):
        # Each variant gets its own texts: a text that was sent before would be in the prefix cache.
        first, second, third, fourth = (requests_of(concurrent, tokens, number + way) for way in range(4))
        found.bare.append(await inside(server.bare, first))
        found.ours.append(await through_client(client, second))
        found.in_process.append(await inside(server.in_process, third))
        found.whole.append(await through_client(client, fourth, watched=False))
    return compared(concurrent, found)


def compared(concurrent: int, found: Rounds) -> Compared:
    """Return the medians of all variants, without the first round of each."""
    ours, whole, in_process, bare = (way[1:] for way in (found.ours, found.whole, found.in_process, found.bare))
    rate, bare_rate = _tokens_per_s(ours), _tokens_per_s(bare)
    return Compared(
        concurrent=concurrent,
        requests_per_s=round(statistics.median(concurrent / each.seconds for each in ours), 2),
        tokens_per_s=round(rate, 1),
        bare_tokens_per_s=round(bare_rate, 1),
        share=round(rate / bare_rate, 3),
        whole_share=round(_tokens_per_s(whole) / bare_rate, 3),
        first_ms=_first_ms(ours),
        in_process_first_ms=_first_ms(in_process),
        added_first_ms=round(_first_ms(ours) - _first_ms(in_process), 1),
        bare_first_ms=_first_ms(bare),
    )


def _tokens_per_s(rounds: list[Measured]) -> float:
    return statistics.median(each.tokens_out / each.seconds for each in rounds)


def _first_ms(rounds: list[Measured]) -> float:
    times = [time_s for each in rounds for time_s in each.first_s]
    return round(1_000 * statistics.median(times), 1) if times else 0.0
