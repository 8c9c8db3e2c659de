"""What all tests share: Hypothesis profiles, a PostgreSQL server, and proof that it is our code that is tested.

`HYPOTHESIS_PROFILE=thorough` tries ten times as many examples.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import runtime
from tests.postgres_server import MISSING, PostgresServer, binaries

settings.register_profile("default", deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("thorough", settings.get_profile("default"), max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


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
