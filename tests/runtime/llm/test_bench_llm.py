"""What `jeeves bench llm` makes of its measurements."""

from __future__ import annotations

from runtime.clock import FakeClock
from runtime.llm.client import ModelClient
from runtime.llm.scripted import ScriptedModel
from serve.llm.bench import Measured, compared, requests_of, through_client
from tests.runtime.llm.test_model_client import models


def test_the_ways_are_compared_by_their_medians() -> None:
    ours = [Measured(2.0, 90, [0.02]), Measured(1.0, 90, [0.03]), Measured(9.0, 90, [0.9])]
    bare = [Measured(1.0, 100, [0.01])] * 3
    found = compared(8, ours, [Measured(1.0, 95, [])] * 3, bare)
    assert found.whole_share == 0.95
    assert (found.tokens_per_s, found.bare_tokens_per_s, found.share) == (45.0, 100.0, 0.45)
    assert (found.requests_per_s, found.first_ms, found.bare_first_ms) == (4.0, 30.0, 10.0)


def test_requests_of_two_rounds_are_not_the_same() -> None:
    first, second = requests_of(3, 10, 0), requests_of(3, 10, 1)
    assert len({request.messages[1].content for request in (*first, *second)}) == 6


async def test_every_request_is_counted_with_the_time_to_its_first_text() -> None:
    client = ModelClient(models(), {"main": ScriptedModel(["four"])}, FakeClock())
    found = await through_client(client, requests_of(5, 10, 0))
    assert (found.tokens_out, len(found.first_s)) == (20, 5)
    unwatched = await through_client(client, requests_of(5, 10, 1), watched=False)
    assert (unwatched.tokens_out, unwatched.first_s) == (20, [])
