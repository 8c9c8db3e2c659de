"""docs/http.md and docs/dashboard.md have every endpoint with its scopes; test_readme.py runs their commands."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import get_args

import pytest
from fastapi import FastAPI
from fastapi.dependencies.models import Dependant

from runtime.errors import BusError, JeevesError, MachineError
from runtime.hosting.limits.rate_limits import PAGES
from runtime.settings import Endpoint
from serve.http.access.admission import routes_of
from serve.http.access.callers import counted_endpoint
from serve.http.access.scopes import OPEN_ROUTES, scopes_of_route
from serve.http.documents.problems import _STATUS_OF_ERROR
from tests.doors.http_site import open_site, routed

ROOT = Path(__file__).parent.parent.parent
PAGE = "".join((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("http.md", "dashboard.md"))
ROW = re.compile(r"^\| `(?P<method>[A-Z]+) (?P<path>/[^`]*)` \| (?P<scopes>[^|]*) \|", re.MULTILINE)


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[FastAPI]:
    async with open_site(tmp_path) as site:
        yield routed(site.app)


def test_the_page_has_every_endpoint_with_the_scopes_that_open_it(api: FastAPI) -> None:
    told = {(row["path"], row["method"]): row["scopes"] for row in ROW.finditer(PAGE)}
    named = {place: name for place, name in routes_of(api).items() if place[1] != "HEAD"}
    scopes = {
        place: "open" if name in OPEN_ROUTES else ", ".join(scopes_of_route(name)) for place, name in named.items()
    }
    assert told == scopes


def test_every_endpoint_that_is_not_open_knows_who_asks(api: FastAPI) -> None:
    """Metrics alone are not counted; every other route takes the caller, and so counts the request."""
    for route in api.routes:
        dependant = getattr(route, "dependant", None)
        if dependant is None or route.name in OPEN_ROUTES | {"metrics"}:  # type: ignore[attr-defined]
            continue
        called = {each.call.__name__ for each in flat(dependant) if each.call is not None}
        assert "caller_of" in called, route
        assert counted_endpoint(route.name) in {*get_args(Endpoint), PAGES}, route  # type: ignore[attr-defined]


def test_every_503_of_the_table_is_a_code_that_the_service_gives() -> None:
    table = PAGE.partition("### Which 503 to try again")[2].partition("\n\nAny other code")[0]
    rows = [row.split("|") for row in table.split("\n") if row.startswith("| `")]
    told = {code: row[3].split()[0].strip(",;:") for row in rows for code in re.findall(r"`(\w+)`", row[1])}
    of_errors = {kind.code for kind in errors_of(JeevesError) if status_of(kind) == 503}
    given = of_errors | {"not_ready", "tokens_unavailable", "shutting_down"}
    assert told.keys() - given == set()
    assert set(told.values()) == {"yes", "no"}
    # What says when to come back passes by itself.
    assert {
        code for code in ("overloaded", "tokens_unavailable", "shutting_down", "llm_busy") if told[code] != "yes"
    } == set()
    machine = {kind.code for kind in errors_of(MachineError)} | {kind.code for kind in errors_of(BusError)}
    unnamed = machine - told.keys()
    assert unnamed == {"called_off", "duplicate_handler", "message_stopped"} | {
        code for code in machine if code.startswith("process")
    }


def errors_of(kind: type[JeevesError]) -> Iterator[type[JeevesError]]:
    yield kind
    for each in kind.__subclasses__():
        yield from errors_of(each)


def status_of(kind: type[JeevesError]) -> int:
    return next((status for base, status in _STATUS_OF_ERROR if issubclass(kind, base)), 503)


def flat(dependant: Dependant) -> list[Dependant]:
    found = [dependant]
    for each in dependant.dependencies:
        found += flat(each)
    return found
