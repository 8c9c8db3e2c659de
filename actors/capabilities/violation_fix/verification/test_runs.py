"""Runs tests in a work tree and reads what became of each, whatever they do: hang, crash, kill, print.

A run is one process with a time limit, killed with its children. When no test has begun or ended for a while, the one
under way hangs: the process is killed, and another one runs the tests that are left.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from actors.capabilities.violation_fix.verification.hidden_git import without_git
from actors.capabilities.violation_fix.verification.test_setup import TestSetup
from runtime.primitives.text_files import read_bytes_file
from runtime.processes.process_tree import kill_marked
from runtime.processes.programs import run_program

Outcome = Literal["passed", "failed", "skipped", "hung", "crashed"]
MAX_OUTPUT_BYTES = 20_000_000
MAX_REPORT_BYTES = 300_000_000
MAX_TOLD_CHARS = 2_000
MAX_FILES_AS_ARGUMENTS = 100
MAX_ROUNDS = 6
POLL_S = 0.1
WHOLE = "the test command"
_BOTH_STREAMS = ("sh", "-c", 'exec "$@" 2>&1', "tests")
# No package of ours: another interpreter imports these, without anything else of this program.
_IN_PROJECT = Path(__file__).parent / "in_project"
_PROBES = ("jeeves_test_report.py", "jeeves_pytest_plugin.py", "jeeves_unittest_runner.py")
_NO_TESTS = 5
# In another order each time (`randomly`), a failure would be nobody's.
_PYTEST_OPTIONS = (
    *("-q", "-p", "jeeves_pytest_plugin", "-p", "no:cacheprovider", "-p", "no:randomly", "--tb=short"),
    *("--continue-on-collection-errors", "--maxfail", "0"),
)
# Of another pytest, of this program, or what would change which code is imported and how.
_OF_OTHERS = (
    *("PYTEST_ADDOPTS", "PYTEST_CURRENT_TEST", "PYTEST_VERSION", "PYTEST_XDIST", "JEEVES_", "GIT_"),
    *("PYTHONPATH", "PYTHONSTARTUP", "PYTHONHOME", "COVERAGE_", "COV_CORE_"),
)


class TestLimits(msgspec.Struct, frozen=True):
    """Limits a run: in all, until the first test begins, and without any test beginning or ending after that.

    `reruns`: how often a test that failed is run again, to find the flaky ones.
    """

    __test__ = False

    run_s: float = 1800.0
    start_s: float = 300.0
    stall_s: float = 120.0
    reruns: int = 2


class TestEnd(msgspec.Struct, frozen=True):
    """Holds how a test ended, and why it failed."""

    __test__ = False

    outcome: Outcome
    why: str = ""


class TestRun(msgspec.Struct, frozen=True):
    """Holds what became of tests. `broken`: files that cannot be collected, with the reason.

    `calls`: function, as `PATH:FIRST LINE`, → the tests that called it; `is_complete`: whether every test ran or ended
    some way; `output`: the end of what was printed.
    """

    __test__ = False

    ends: Mapping[str, TestEnd]
    broken: Mapping[str, str]
    calls: Mapping[str, tuple[str, ...]]
    is_complete: bool
    duration_s: float
    output: str = ""

    def of(self, *outcomes: Outcome) -> tuple[str, ...]:
        """Return the tests with one of some outcomes."""
        return tuple(test for test, end in self.ends.items() if end.outcome in outcomes)


class TestRunner:
    """Runs the tests of one work tree."""

    __test__ = False

    def __init__(self, tree: Path, setup: TestSetup, limits: TestLimits, import_roots: Sequence[str] = ()) -> None:
        """`import_roots`: folders of the work tree, relative to it, that the tests import its packages from."""
        self._tree = tree
        self._setup = setup
        self._limits = limits
        self._roots = import_roots

    def run(
        self, *, only: Collection[str] | None = None, traced: Sequence[str] = (), stops_at_failure: bool = False
    ) -> TestRun:
        """Run all tests or some; `traced`: files whose functions are noted when a test calls them."""
        started_s = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="jeeves-tests-") as folder, without_git(self._tree):
            private = Path(folder)
            for name in _PROBES:
                shutil.copyfile(_IN_PROJECT / name, private / name)
            job = _Job(self._tree, self._setup, self._limits, self._roots, private, traced, stops_at_failure)
            is_complete = job.run_to_end(only)
        calls = {function: tuple(sorted(tests)) for function, tests in sorted(job.calls.items()) if function and tests}
        told = job.output[-MAX_TOLD_CHARS:]
        return TestRun(job.ends, job.broken, calls, is_complete, time.monotonic() - started_s, told)


class _Job:
    """Gathers the ends of tests over the processes that it takes to run them."""

    def __init__(
        self,
        tree: Path,
        setup: TestSetup,
        limits: TestLimits,
        roots: Sequence[str],
        private: Path,
        traced: Sequence[str],
        stops_at_failure: bool,
    ) -> None:
        self.ends: dict[str, TestEnd] = {}
        self.broken: dict[str, str] = {}
        self.calls: dict[str, set[str]] = {}
        self.output = ""
        self._under_way: set[str] = set()
        self._tree = tree
        self._setup = setup
        self._limits = limits
        self._roots = roots
        self._private = private
        self._traced = traced
        self._stops = stops_at_failure
        self._report = private / "report"

    def run_to_end(self, only: Collection[str] | None) -> bool:
        """Run tests until each has ended some way; return whether that was reached."""
        deadline_s = time.monotonic() + self._limits.run_s
        for _ in range(MAX_ROUNDS):
            left_s = deadline_s - time.monotonic()
            if left_s <= 0:
                return False
            is_done, status, why = self._once(only, left_s)
            if is_done or self._is_over():
                return True
            if self._setup.runner == "command" and not self.ends:
                self.ends[WHOLE] = TestEnd("hung" if why in ("hung", "late") else "crashed", why)
                return True
            if why == "late" or not self._under_way:
                # Nothing began, or what ends the process has nothing to do with one test.
                told = f"no test began within {self._limits.start_s:g} s" if why == "hung" else f"status {status}"
                told = f"the run took longer than {self._limits.run_s:g} s" if why == "late" else told
                self.broken.setdefault("", f"{told}: {self.output[-MAX_TOLD_CHARS:]}")
                return False
            for test in self._under_way:
                told = f"nothing happened for {self._limits.stall_s:g} s" if why == "hung" else f"the process {why}"
                self.ends[test] = TestEnd("hung" if why == "hung" else "crashed", told)
        return False

    def _is_over(self) -> bool:
        return self._stops and any(end.outcome == "failed" for end in self.ends.values())

    def _once(self, only: Collection[str] | None, left_s: float) -> tuple[bool, int, str]:
        self._report.unlink(missing_ok=True)
        self._under_way.clear()
        stalled = False

        def is_stalled(has_ended: Callable[[], bool]) -> bool:
            nonlocal stalled
            seen, since_s = -1, time.monotonic()
            while not has_ended():
                time.sleep(POLL_S)
                size = self._report.stat().st_size if self._report.exists() else 0
                if size != seen:
                    seen, since_s = size, time.monotonic()
                allowed_s = self._limits.stall_s if size > 0 else self._limits.start_s
                stalled = time.monotonic() - since_s > allowed_s
                if stalled:
                    return True
            return False

        try:
            data, status, late = run_program(
                [*_BOTH_STREAMS, *self._command(only)],
                cwd=self._tree,
                timeout_s=left_s,
                max_output_bytes=MAX_OUTPUT_BYTES,
                environment=self._environment(only),
                is_stuck=is_stalled,
            )
        finally:
            # Servers that tests leave running in sessions of their own.
            kill_marked(f"JEEVES_TEST_REPORT={self._report}")
        self.output = data.decode("utf-8", "replace")
        is_done = self._read()
        if self._setup.runner == "command" and not self.ends and not stalled and not late:
            self.ends[WHOLE] = TestEnd("passed" if status == 0 else "failed", self.output[-MAX_TOLD_CHARS:])
            is_done = True
        if self._setup.runner == "pytest" and status == _NO_TESTS:
            is_done = True
        why = "hung" if stalled else "late" if late else f"ended with status {status}"
        return is_done, status, why

    def _command(self, only: Collection[str] | None) -> list[str]:
        if self._setup.runner == "command":
            return list(self._setup.command)
        if self._setup.runner == "unittest":
            return [self._setup.python, str(self._private / _PROBES[2])]
        command = [self._setup.python, "-m", "pytest", *_PYTEST_OPTIONS]
        files = sorted({test.partition("::")[0] for test in only or ()})
        # A file that is gone would end the run.
        files = [file for file in files if (self._tree / file).is_file()]
        return command + (files if 0 < len(files) <= MAX_FILES_AS_ARGUMENTS else [])

    def _environment(self, only: Collection[str] | None) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_OF_OTHERS)}
        folders = [str(self._private), *(str(self._tree / root) for root in self._roots)]
        kept |= {"PYTHONPATH": os.pathsep.join(folders), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"}
        kept |= {"NO_COLOR": "1", "JEEVES_TEST_REPORT": str(self._report)}
        kept["JEEVES_TRACED"] = json.dumps([str(self._tree / file) for file in self._traced])
        if only is not None:
            kept["JEEVES_TEST_ONLY"] = self._listed("only", only)
        if self.ends:
            kept["JEEVES_TEST_SKIP"] = self._listed("skip", self.ends)
        if self._stops:
            kept["JEEVES_TEST_STOP"] = "1"
        if self._setup.runner == "command":
            kept["PYTEST_ADDOPTS"] = "-p jeeves_pytest_plugin -p no:cacheprovider"
        return kept

    def _listed(self, name: str, tests: Collection[str]) -> str:
        file = self._private / name
        file.write_text(json.dumps(sorted(tests)), encoding="utf-8")
        return str(file)

    def _read(self) -> bool:
        """Take what was reported; return whether the run came to its end."""
        is_done = False
        for event in _events(self._report):
            match event.event:
                case "start":
                    self._under_way.add(event.id)
                case "end":
                    self.ends[event.id] = TestEnd(event.outcome, event.why)
                    self._under_way.discard(event.id)
                case "broken":
                    self.broken[event.id] = event.why
                case "done":
                    is_done = True
        for file in sorted(self._private.glob("report.calls-*")):
            for event in _events(file):
                for path, line in event.calls:
                    relative = os.path.relpath(path, self._tree)
                    self.calls.setdefault(f"{relative}:{line}", set()).add(event.id)
            file.unlink()
        return is_done


class _Event(msgspec.Struct):
    event: str
    id: str = ""
    outcome: Outcome = "failed"
    why: str = ""
    calls: tuple[tuple[str, int], ...] = ()


def _events(file: Path) -> Iterator[_Event]:
    """Yield the events of a report; the last one may be cut off by a kill, and tests may have made it anything."""
    try:
        content = read_bytes_file(file, MAX_REPORT_BYTES)
    except OSError:
        return  # gone, larger than allowed or no plain file: without its end the run does not count as done
    for line in content.splitlines():
        try:
            yield msgspec.json.decode(line, type=_Event)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue  # cut off, or not written by us; a test without an event was not run
