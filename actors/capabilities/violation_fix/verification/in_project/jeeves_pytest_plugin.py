"""Reports the tests of a pytest run (`jeeves_test_report`); loaded by `-p` into the project's pytest."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from typing import Any

import pytest

_reporting: Any = importlib.import_module("jeeves_test_report")


class _Tests:
    """Holds the report and the tracer of this process; a worker of xdist traces only, its controller reports."""

    def __init__(self, *, is_worker: bool) -> None:
        self.report = None if is_worker else _reporting.report_of_process()
        self.calls = _reporting.report_of_process(".calls-%d" % os.getpid())  # noqa: UP031
        self.tracer = _reporting.tracer_of_process()
        self.ends: dict[str, tuple[str, str]] = {}
        self.stops = bool(os.environ.get("JEEVES_TEST_STOP"))
        self.session: Any = None


_tests: _Tests | None = None


@pytest.hookimpl(hookwrapper=True, tryfirst=True)  # type: ignore[misc, unused-ignore]
def pytest_load_initial_conftests(early_config: Any) -> Iterator[None]:
    """Switch the measuring of coverage off: it would slow tests down, and fail a run for its percentage."""
    if getattr(early_config.known_args_namespace, "cov_source", None):
        early_config.known_args_namespace.cov_source = []
        early_config.option.cov_source = []
    yield


def pytest_configure(config: Any) -> None:
    """Open the report."""
    global _tests  # noqa: PLW0603
    # A pytest that a test starts is none of ours.
    os.environ.pop("PYTEST_ADDOPTS", None)
    _tests = _Tests(is_worker=hasattr(config, "workerinput"))


def pytest_sessionstart(session: Any) -> None:
    """Keep the session, which may be stopped early."""
    if _tests is not None:
        _tests.session = session


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    """Leave out the tests that were not chosen."""
    only, skipped = _reporting.listed_ids("JEEVES_TEST_ONLY"), _reporting.listed_ids("JEEVES_TEST_SKIP")
    left_out = [item for item in items if not _reporting.is_chosen(item.nodeid, only, skipped)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if _reporting.is_chosen(item.nodeid, only, skipped)]


def pytest_collectreport(report: Any) -> None:
    """Report a file that cannot be collected."""
    if _tests is not None and _tests.report is not None and report.failed:
        _tests.report.write("broken", id=report.nodeid, why=_reporting.short(_why(report)))


@pytest.hookimpl(hookwrapper=True)  # type: ignore[misc, unused-ignore]
def pytest_runtest_protocol(item: Any) -> Iterator[None]:
    """Trace the calls of a test, its fixtures included."""
    if _tests is None or _tests.calls is None:
        yield
        return
    _tests.tracer.start()
    yield
    calls = _tests.tracer.stop()
    if calls:
        _tests.calls.write("calls", id=item.nodeid, calls=calls)


def pytest_runtest_logstart(nodeid: str) -> None:
    """Report that a test begins."""
    if _tests is not None and _tests.report is not None:
        _tests.report.write("start", id=nodeid)


def pytest_runtest_logreport(report: Any) -> None:
    """Report how a test ended, once its last part is over."""
    if _tests is None or _tests.report is None:
        return
    if report.failed:
        _tests.ends[report.nodeid] = ("failed", _reporting.short(_why(report)))
    elif report.skipped or hasattr(report, "wasxfail"):
        _tests.ends.setdefault(report.nodeid, ("skipped", ""))
    if report.when == "teardown":
        outcome, why = _tests.ends.pop(report.nodeid, ("passed", ""))
        _tests.report.write("end", id=report.nodeid, outcome=outcome, why=why)
        if _tests.stops and outcome == "failed":
            # A file that cannot be collected would count for `--maxfail`.
            _tests.session.shouldstop = "a test failed"


def pytest_sessionfinish(exitstatus: int) -> None:
    """Report that all tests are over."""
    if _tests is not None and _tests.report is not None:
        _tests.report.write("done", status=int(exitstatus))


def _why(report: Any) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is not None:
        return str(crash.message)
    lines = [line for line in str(report.longrepr).splitlines() if line.strip()]
    return lines[-1] if lines else ""
