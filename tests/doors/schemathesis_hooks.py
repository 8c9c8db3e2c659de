"""Hooks of schemathesis: paths name runs that are there, and what no schema can say is left out of requests.

No schema says that an Idempotency-Key stands for one body, that numbers have 64 bits, and that whole ones are written
without a fraction. tests/attacks/test_http_requests.py has the refusals of all three.
"""

from __future__ import annotations

import itertools
import os
import random
import re
from typing import Any

import schemathesis

RUNS = os.environ["CASE_RUNS"].split(",")
CHANCE = random.Random(7)
NUMBERS = itertools.count()
KEY = "idempotency-key"


@schemathesis.hook
def map_path_parameters(context: Any, path_parameters: dict[str, Any]) -> dict[str, Any]:
    if path_parameters and "run_id" in path_parameters and CHANCE.random() < 0.7:
        run_id = CHANCE.choice(RUNS)
        path_parameters = dict.fromkeys(path_parameters, f"{run_id}-q1") | {"run_id": run_id}
    return path_parameters


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: dict[str, Any]) -> None:
    headers = case.headers or {}
    # A case that lacks its token on purpose would get it back if it was changed.
    if "authorization" in headers and re.fullmatch(r"[ -~]{1,200}", str(headers.get(KEY, ""))):
        headers[KEY] = f"{headers[KEY]}{next(NUMBERS)}"
    if isinstance(case.body, dict | list):
        case.body = plain(case.body)


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**63:
        return int(value)
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return value % 2**63
    return value
