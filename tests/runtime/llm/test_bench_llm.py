"""What `jeeves bench llm` makes of its measurements."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator

from runtime.llm.client import ModelClient
from runtime.llm.messages import ModelRequest
from runtime.llm.scripted import ScriptedModel
from runtime.primitives.clock import FakeClock
from serve.llm.throughput_bench import Measured, Rounds, all_at_once, compared, requests_of, through_client
from tests.runtime.llm.test_model_client import models


def test_the_ways_are_compared_by_their_medians() -> None:
    ours = [Measured(2.0, 90, [0.02]), Measured(1.0, 90, [0.03]), Measured(9.0, 90, [0.9])]
    bare = [Measured(1.0, 100, [0.01])] * 3
    warming, own = Measured(99.0, 1, [9.0]), [Measured(1.0, 100, [0.018])] * 3
    whole = [Measured(1.0, 95, [])] * 3
    ways = ([warming, *way] for way in (ours, whole, own, bare))
    found = compared(8, Rounds(*ways))
    assert found.whole_share == 0.95
    assert (found.tokens_per_s, found.bare_tokens_per_s, found.share) == (45.0, 100.0, 0.45)
    assert (found.requests_per_s, found.first_ms, found.bare_first_ms) == (4.0, 30.0, 10.0)
    assert (found.in_process_first_ms, found.added_first_ms) == (18.0, 12.0)


def test_requests_of_two_rounds_are_not_the_same() -> None:
    first, second = requests_of(3, 10, 0), requests_of(3, 10, 1)
    assert len({request.messages[1].content for request in (*first, *second)}) == 6


async def test_the_first_of_an_answer_is_its_first_text_and_not_a_piece_without_any() -> None:
    async def stream(_request: ModelRequest) -> AsyncGenerator[tuple[str, int], None]:
        entered_s = time.perf_counter()
        yield "", 1
        while time.perf_counter() < entered_s + 0.005:
            pass
        yield "text", 1
        yield "more", 2

    found = await all_at_once(requests_of(1, 10, 0), stream)
    assert found.tokens_out == 4
    assert 0.005 <= found.first_s[0] <= found.seconds


async def test_an_answer_without_text_has_no_first() -> None:
    async def stream(_request: ModelRequest) -> AsyncGenerator[tuple[str, int], None]:
        yield "", 1

    assert (await all_at_once(requests_of(2, 10, 0), stream)).first_s == []


async def test_every_request_is_counted_with_the_time_to_its_first_text() -> None:
    client = ModelClient(models(), {"main": ScriptedModel(["four"])}, FakeClock())
    found = await through_client(client, requests_of(5, 10, 0))
    assert (found.tokens_out, len(found.first_s)) == (20, 5)
    unwatched = await through_client(client, requests_of(5, 10, 1), watched=False)
    assert (unwatched.tokens_out, unwatched.first_s) == (20, [])
