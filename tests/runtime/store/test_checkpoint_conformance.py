"""The database layer passes the conformance suite that LangGraph has for keepers of checkpoints."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from tests.runtime.store.conftest import Place

BASE = {"put", "put_writes", "get_tuple", "list", "delete_thread"}


@pytest.mark.skipif(
    not os.environ.get("CI") and importlib.util.find_spec("langgraph") is None,
    reason="the extra `bench` is not installed",
)
async def test_the_base_suite_for_checkpoints_passes(place: Place) -> None:
    from langgraph.checkpoint.conformance import checkpointer_test, validate

    from tests.runtime.store.checkpoint_saver import CheckpointSaver

    async def saver() -> AsyncGenerator[Any, None]:
        yield CheckpointSaver(place.open())

    registered = checkpointer_test(name=f"jeeves on {place.backend}")(saver)
    report = await validate(registered, capabilities=BASE)
    results = {name: report.results[name] for name in BASE}
    assert {name: result.failures for name, result in results.items() if result.failures} == {}
    assert all(result.detected and result.passed for result in results.values())
    assert sum(result.tests_passed for result in results.values()) > 40
