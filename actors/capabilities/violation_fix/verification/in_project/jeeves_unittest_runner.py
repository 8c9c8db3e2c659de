"""Runs and reports (`jeeves_test_report`) the tests that unittest discovers in the current folder."""

from __future__ import annotations

import importlib
import os
import sys
import unittest
from collections.abc import Iterator
from typing import Any

_reporting: Any = importlib.import_module("jeeves_test_report")
STARTS = ("tests", "test")
PATTERNS = ("test*.py", "*_test.py", "*_tests.py")


class _Result(unittest.TestResult):
    """Reports each test as it ends."""

    def __init__(self, report: Any, calls: Any, tracer: Any) -> None:
        super().__init__()
        self._report = report
        self._calls = calls
        self._tracer = tracer
        self._outcome = ("passed", "")

    def startTest(self, test: unittest.TestCase) -> None:  # noqa: N802
        super().startTest(test)
        self._outcome = ("passed", "")
        self._report.write("start", id=test.id())
        self._tracer.start()

    def stopTest(self, test: unittest.TestCase) -> None:  # noqa: N802
        calls = self._tracer.stop()
        if calls:
            self._calls.write("calls", id=test.id(), calls=calls)
        self._report.write("end", id=test.id(), outcome=self._outcome[0], why=_reporting.short(self._outcome[1]))
        super().stopTest(test)

    def addError(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802
        super().addError(test, err)
        self._failed(test, err)

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802
        super().addFailure(test, err)
        self._failed(test, err)

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: Any) -> None:  # noqa: N802
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._failed(test, err)

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:  # noqa: N802
        super().addUnexpectedSuccess(test)
        self._outcome = ("failed", "unexpected success")

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:  # noqa: N802
        super().addSkip(test, reason)
        self._outcome = ("skipped", "")

    def addExpectedFailure(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802
        super().addExpectedFailure(test, err)
        self._outcome = ("skipped", "")

    def _failed(self, test: Any, err: Any) -> None:
        why = "%s: %s" % (err[0].__name__, err[1])  # noqa: UP031
        self._outcome = ("failed", why)
        if not hasattr(test, "_testMethodName"):
            # The setting up of a whole class or module.
            self._report.write("broken", id=test.id(), why=_reporting.short(why))


def _tests_of(suite: Any) -> Iterator[Any]:
    for each in suite:
        if isinstance(each, unittest.TestSuite):
            yield from _tests_of(each)
        else:
            yield each


def _discovered() -> list[Any]:
    # A folder that is no package is not found from the top.
    starts = [(".", "."), *((folder, folder) for folder in STARTS if os.path.isdir(folder))]  # noqa: PTH112
    found: dict[str, Any] = {}
    for start, top in starts:
        if start == "." or not os.path.isfile(os.path.join(start, "__init__.py")):  # noqa: PTH113, PTH118
            for pattern in PATTERNS:
                for test in _tests_of(unittest.TestLoader().discover(start, pattern, top)):
                    found.setdefault(test.id(), test)
    return list(found.values())


def main() -> int:
    """Run the chosen tests; return 0 where all passed."""
    sys.path.insert(0, os.getcwd())  # noqa: PTH109
    report, calls = _reporting.report_of_process(), _reporting.report_of_process(".calls-unittest")
    only, skipped = _reporting.listed_ids("JEEVES_TEST_ONLY"), _reporting.listed_ids("JEEVES_TEST_SKIP")
    chosen = [test for test in _discovered() if _reporting.is_chosen(test.id(), only, skipped)]
    result = _Result(report, calls, _reporting.tracer_of_process())
    result.failfast = bool(os.environ.get("JEEVES_TEST_STOP"))
    unittest.TestSuite(chosen).run(result)
    report.write("done", status=0 if result.wasSuccessful() else 1)
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
