"""How much of an engine's speed is left behind our client and a Ray Serve handle: both in one run, on one replica.

The bare engine is driven inside the replica's process, without client, handle, turns or messages. Rounds alternate, so
that what else the machine does falls on both.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Iterable
from typing import Any

import msgspec

from runtime.llm.client import ModelClient
from runtime.llm.messages import Message, ModelRequest, Sampling

PROMPT = "Say which of these functions is called first, and by whom. " * 8


class Measured(msgspec.Struct, frozen=True):
    """One round: how long it took, the tokens that were written, and the times to the first of each answer."""

    seconds: float
    tokens_out: int
    first_s: list[float]


class Compared(msgspec.Struct, frozen=True):
    """Medians over all rounds with that many requests at once. `share`: our tokens/s over the bare engine's, with every
    answer watched as it grows; `whole_share`: with answers that nobody watches."""

    concurrent: int
    requests_per_s: float
    tokens_per_s: float
    bare_tokens_per_s: float
    share: float
    whole_share: float
    first_ms: float
    bare_first_ms: float


def requests_of(concurrent: int, tokens: int, round_number: int) -> list[ModelRequest]:
    """Requests that differ from each other, and that every round sends in the same length."""
    return [
        ModelRequest(
            f"bench-{round_number}-{number}",
            (Message("system", PROMPT), Message("user", f"Round {round_number}, request {number}.")),
            Sampling(tokens, 1.0, number),
        )
        for number in range(concurrent)
    ]


async def through_client(client: ModelClient, requests: Iterable[ModelRequest], watched: bool = True) -> Measured:
    """All requests at once through the client, each in pieces if it is `watched`."""
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
    """All three ways, `rounds` times each after one that warms up. `server`: the handle of the same deployment."""
    ours: list[Measured] = []
    whole: list[Measured] = []
    bare: list[Measured] = []
    for number in range(0, 3 * (rounds + 1), 3):
        # Each way gets texts of its own: the second to send a text would find it in the prefix cache.
        first, second, third = (requests_of(concurrent, tokens, number + way) for way in range(3))
        answer = await server.bare.remote(msgspec.msgpack.encode(first))
        bare.append(msgspec.msgpack.decode(answer, type=Measured))
        ours.append(await through_client(client, second))
        whole.append(await through_client(client, third, watched=False))
    return compared(concurrent, ours[1:], whole[1:], bare[1:])


def compared(concurrent: int, ours: list[Measured], whole: list[Measured], bare: list[Measured]) -> Compared:
    """Three lists of rounds, side by side."""
    rate, bare_rate = _tokens_per_s(ours), _tokens_per_s(bare)
    return Compared(
        concurrent=concurrent,
        requests_per_s=round(statistics.median(concurrent / each.seconds for each in ours), 2),
        tokens_per_s=round(rate, 1),
        bare_tokens_per_s=round(bare_rate, 1),
        share=round(rate / bare_rate, 3),
        whole_share=round(_tokens_per_s(whole) / bare_rate, 3),
        first_ms=_first_ms(ours),
        bare_first_ms=_first_ms(bare),
    )


def _tokens_per_s(rounds: list[Measured]) -> float:
    return statistics.median(each.tokens_out / each.seconds for each in rounds)


def _first_ms(rounds: list[Measured]) -> float:
    times = [time_s for each in rounds for time_s in each.first_s]
    return round(1_000 * statistics.median(times), 1) if times else 0.0
