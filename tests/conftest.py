"""What all tests share: Hypothesis profiles, a PostgreSQL server, and proof that it is our code that is tested.

`HYPOTHESIS_PROFILE=ci` tries as many examples as `make check` does, `thorough` ten times as many.
"""

from __future__ import annotations

import gc
import logging
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

import runtime
from tests.postgres_server import MISSING, PostgresServer, binaries

settings.register_profile("default", deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("default"), max_examples=100)
settings.register_profile("thorough", settings.get_profile("default"), max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


collect_ignore = ["fixtures"]  # repositories that tests ask about, some with tests of their own

IN_MEMORY = Path("/dev/shm")
ROOM_BYTES = 4 * 2**30
"""What must be free there and in memory; all tests together write less than 1 GiB."""

REAL_PROCESSES = ("actors", "conformance", "doors", "faults", "llm")
"""Folders whose tests start processes and wait for them by the real clock."""


def pytest_configure() -> None:
    """Keep the files of tests in memory where there is room: tens of thousands of commits would wait for a disk."""
    if has_room(IN_MEMORY, ROOM_BYTES):
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(IN_MEMORY))


def has_room(folder: Path, room_bytes: int) -> bool:
    """Whether a folder and the memory have that much room, and programs in the folder can be run."""
    try:
        system = os.statvfs(folder)
        available = re.search(r"MemAvailable: *(\d+) kB", Path("/proc/meminfo").read_text(encoding="ascii"))
    except OSError:
        return False  # there is none, as on macOS
    free_bytes = min(system.f_bavail * system.f_frsize, int(available[1]) * 1024 if available else 0)
    return free_bytes >= room_bytes and not system.f_flag & os.ST_NOEXEC


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keep tests together that share something, with `--dist loadscope`."""
    if config.getoption("dist") != "loadscope":
        return None
    from tests.scheduling import FilesTogether

    config.option.loadscopereorder = False  # they are in order as they come
    return FilesTogether(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put tests in order where several processes share them, and give those of real processes another try in CI."""
    if hasattr(config, "workerinput"):
        from tests.scheduling import begins_with_long

        items[:] = begins_with_long(items)
    _try_again(items)


def _try_again(items: list[pytest.Item]) -> None:
    """In CI a failed test of real processes has one more try, and is listed as rerun (docs/decisions/005)."""
    if not os.environ.get("CI"):
        return
    for item in items:
        folders = item.path.relative_to(Path(__file__).parent).parts[:-1]
        if item.get_closest_marker("ray") or (folders and folders[0] in REAL_PROCESSES):
            item.add_marker(pytest.mark.flaky(reruns=1))


def pytest_sessionstart(session: pytest.Session) -> None:
    """Refuse to test a `runtime` package that is not the one beside these tests."""
    tested = Path(str(runtime.__file__)).resolve()
    ours = Path(__file__).resolve().parent.parent / "runtime" / "__init__.py"
    if tested != ours:
        pytest.exit(f"'runtime' is imported from {tested}, not from {ours}", returncode=3)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Spare the garbage collector the tests themselves: they stay to the end, and it would look at all of them."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.fixture(autouse=True)
def _logging_as_it_was() -> Iterator[None]:
    """Take back what a test has set of logging: an actor made in this process configures all of it."""
    loggers = [logging.getLogger(name) for name in ("", "runtime", "actors", "serve")]
    before = [(logger, logger.level, list(logger.handlers)) for logger in loggers]
    yield
    for logger, level, handlers in before:
        logger.setLevel(level)
        for handler in [each for each in logger.handlers if each not in handlers]:
            logger.removeHandler(handler)


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
