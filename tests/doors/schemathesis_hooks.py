"""Hooks of schemathesis: cases name what is there, and what no schema can say is left out of them.

No schema says that numbers have 64 bits, that whole ones have no fraction, and that a session id is printable;
tests/attacks/test_http_requests.py has the refusals.
"""

from __future__ import annotations

import os
import random
from typing import Any

import schemathesis

RUNS = os.environ["CASE_RUNS"].split(",")
SESSIONS = os.environ["CASE_SESSIONS"].split(",")
CHANCE = random.Random(7)
ASKED = {"model": "sample", "messages": [{"role": "user", "content": "Where?"}]}


@schemathesis.hook
def map_path_parameters(context: Any, path_parameters: dict[str, Any]) -> dict[str, Any]:
    if not path_parameters or CHANCE.random() > 0.7:
        return path_parameters
    run_id = CHANCE.choice(RUNS)
    known = {"run_id": run_id, "interrupt_id": f"{run_id}-q1", "model": "sample", "name": "locate"}
    known["session_id"] = CHANCE.choice(SESSIONS)
    return {name: known.get(name, value) for name, value in path_parameters.items()}


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: dict[str, Any]) -> None:
    generation = getattr(case.meta, "generation", None)
    is_positive = generation is not None and generation.mode is schemathesis.GenerationMode.POSITIVE
    if case.operation.path == "/v1/chat/completions" and is_positive and CHANCE.random() < 0.5:
        case.body = ASKED
    elif isinstance(case.body, dict | list):
        case.body = plain(case.body, is_positive)
    if is_positive and isinstance(case.query, dict):
        case.query = plain(case.query, is_positive)
    if is_positive and "idempotency-key" not in _names(case.headers):
        _leave_out(case.headers, "last-event-id")


def plain(value: Any, is_positive: bool, name: str = "") -> Any:
    if isinstance(value, dict):
        return {key: plain(item, is_positive, key) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item, is_positive) for item in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**63:
        return int(value)
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return value % 2**63
    if is_positive and name == "session_id" and isinstance(value, str):
        return "".join(char if char.isprintable() else "x" for char in value)
    return value


def _names(headers: Any) -> set[str]:
    return {str(name).lower() for name in headers or {}}


def _leave_out(headers: Any, name: str) -> None:
    for each in [each for each in headers or {} if str(each).lower() == name]:
        del headers[each]
