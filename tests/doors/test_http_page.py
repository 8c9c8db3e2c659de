"""docs/http.md and docs/dashboard.md have every endpoint with its scopes; test_readme.py runs their commands."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import get_args

import pytest
from fastapi import FastAPI
from fastapi.dependencies.models import Dependant

from runtime.settings import Endpoint
from serve.http.access.admission import routes_of
from serve.http.access.callers import counted_endpoint
from serve.http.access.scopes import OPEN_ROUTES, scopes_of_route
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
        assert counted_endpoint(route.name) in get_args(Endpoint), route  # type: ignore[attr-defined]


def flat(dependant: Dependant) -> list[Dependant]:
    found = [dependant]
    for each in dependant.dependencies:
        found += flat(each)
    return found
