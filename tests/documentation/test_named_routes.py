"""Every route that a page names is one of the service: a path that answers 404 is found here, not by a reader."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.routing import BaseRoute, Match

from tests.documentation.http_page import application

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")

_PATH = r"/[\w./{}$-]*"
_WITH_METHOD = re.compile(rf"\b({'|'.join(METHODS)})\s+({_PATH})")
_ALONE = re.compile(rf"/api{_PATH}")
# What stands for a name: `{run_id}`, `$RUN`, `ID`.
_STAND_IN = re.compile(r"\{\w+\}|\$\w+|\b[A-Z][A-Z_]*\b")


def named(text: str) -> Iterator[tuple[str, str]]:
    """Yield each route that a text names: its method, empty where only the path is named, and its path."""
    for method, path in _WITH_METHOD.findall(text):
        yield method, path.rstrip(".")
    for path in _ALONE.findall(text):
        yield "", path.rstrip(".")


def is_known(routes: list[BaseRoute], method: str, path: str) -> bool:
    """Return whether a route takes that path, or has such paths below it where only its beginning is named."""
    if not method and any(getattr(route, "path", "").startswith(f"{path.rstrip('/')}/") for route in routes):
        return True
    scope = {"type": "http", "method": method, "path": _STAND_IN.sub("x", path), "root_path": ""}
    found = {route.matches(scope)[0] for route in routes}
    return Match.FULL in found or (not method and Match.PARTIAL in found)


@pytest.fixture(scope="module")
def routes() -> list[BaseRoute]:
    return application().routes


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_route_that_a_page_names_is_one_of_the_service(page: Path, routes: list[BaseRoute]) -> None:
    told = set(named(page.read_text(encoding="utf-8")))
    assert sorted(f"{method} {path}".strip() for method, path in told if not is_known(routes, method, path)) == []


def test_a_route_is_found_however_a_page_writes_it_and_another_one_is_not(routes: list[BaseRoute]) -> None:
    text = """`DELETE
    /api/v1/chat/sessions/ID`, `POST /api/v1/runs/{run_id}/fork`. curl localhost:8400/api/v1/runs/$RUN/answer?wait=1
    and /api/v1/governance/dashboard/…, all below /api/v1/governance, but not `DELETE /api/v1/sessions/ID`,
    /api/v2/runs or `POST /health`."""
    assert {route: is_known(routes, *route) for route in named(text)} == {
        ("DELETE", "/api/v1/chat/sessions/ID"): True,
        ("", "/api/v1/chat/sessions/ID"): True,
        ("POST", "/api/v1/runs/{run_id}/fork"): True,
        ("", "/api/v1/runs/{run_id}/fork"): True,
        ("", "/api/v1/runs/$RUN/answer"): True,
        ("", "/api/v1/governance/dashboard/"): True,
        ("", "/api/v1/governance"): True,
        ("DELETE", "/api/v1/sessions/ID"): False,
        ("", "/api/v1/sessions/ID"): False,
        ("", "/api/v2/runs"): False,
        ("POST", "/health"): False,
    }
