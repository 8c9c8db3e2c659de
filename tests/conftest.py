"""What all tests share: Hypothesis profiles, a PostgreSQL server, groups, and proof that it is our code that is tested.

`HYPOTHESIS_PROFILE=ci` tries as many examples as `make check` does, `thorough` ten times as many.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import runtime
from tests.postgres_server import MISSING, PostgresServer, binaries

settings.register_profile("default", deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("default"), max_examples=100)
settings.register_profile("thorough", settings.get_profile("default"), max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


collect_ignore = ["fixtures"]  # repositories that tests ask about, some with tests of their own

REAL_PROCESSES = ("actors", "conformance", "doors", "faults", "llm")
"""Folders whose tests start processes and wait for them by the real clock."""


@pytest.hookimpl(tryfirst=True)  # before xdist looks for groups
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Say which tests stay together when several processes run them, and which may be tried again."""
    if config.pluginmanager.hasplugin("xdist"):
        for item in items:
            if _stays_with_its_file(item):
                item.add_marker(pytest.mark.xdist_group(item.path.relative_to(Path(__file__).parent).as_posix()))
    if os.environ.get("CI"):
        for item in items:
            if item.get_closest_marker("ray") or _is_of_real_processes(item):
                # One more try, and listed as rerun (docs/decisions/005).
                item.add_marker(pytest.mark.flaky(reruns=1))


def _stays_with_its_file(item: pytest.Item) -> bool:
    """Whether tests of a file share a cluster, a system or a repository, or are too short to be moved."""
    if not _is_of_real_processes(item):
        return True
    fixtures = getattr(item, "_fixtureinfo").name2fixturedefs.values()  # noqa: B009
    return any(definition.scope == "module" for found in fixtures for definition in found)


def _is_of_real_processes(item: pytest.Item) -> bool:
    folders = item.path.relative_to(Path(__file__).parent).parts[:-1]
    return bool(folders) and folders[0] in REAL_PROCESSES


def pytest_sessionstart(session: pytest.Session) -> None:
    """Refuse to test a `runtime` package that is not the one beside these tests."""
    tested = Path(str(runtime.__file__)).resolve()
    ours = Path(__file__).resolve().parent.parent / "runtime" / "__init__.py"
    if tested != ours:
        pytest.exit(f"'runtime' is imported from {tested}, not from {ours}", returncode=3)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL server. Without PostgreSQL tests are skipped on a desk, and fail in CI."""
    found = binaries()
    if found is None:
        if os.environ.get("CI"):
            pytest.fail(MISSING)
        pytest.skip(MISSING)
    server = PostgresServer(found)
    yield server
    server.close()
