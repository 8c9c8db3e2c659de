"""Runs of tests, whatever the tests do: hang, crash, start processes, fail to load, or come in another runner."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from actors.capabilities.violation_fix.verification.test_runs import WHOLE, TestLimits, TestRun, TestRunner
from actors.capabilities.violation_fix.verification.test_setup import Runner, TestSetup
from tests.readiness import is_ready

LIMITS = TestLimits(run_s=120.0, start_s=60.0, stall_s=1.5, reruns=1)


@pytest.fixture(scope="module", autouse=True)
def _without_our_plugins() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        yield


def run(
    tree: Path, runner: Runner = "pytest", *, command: tuple[str, ...] = (), limits: TestLimits = LIMITS, **how: object
) -> TestRun:
    setup = TestSetup(sys.executable, runner, command)
    return TestRunner(tree, setup, limits, (".",)).run(**how)  # type: ignore[arg-type]


def ends(found: TestRun) -> dict[str, str]:
    return {test.rpartition("::")[2] or test: end.outcome for test, end in found.ends.items()}


@pytest.mark.long
def test_tests_that_hang_or_crash_are_named_and_the_others_run(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text(
        "import os, time\n\n"
        "def test_first(): pass\n\ndef test_hangs(): time.sleep(60)\n\ndef test_between(): pass\n\n"
        "def test_crashes(): os._exit(3)\n\ndef test_last(): pass\n"
    )
    found = run(tmp_path)
    assert ends(found) == {
        "test_first": "passed",
        "test_hangs": "hung",
        "test_between": "passed",
        "test_crashes": "crashed",
        "test_last": "passed",
    }
    assert found.is_complete
    assert found.ends["test_a.py::test_hangs"].why == "nothing happened for 1.5 s"
    assert found.ends["test_a.py::test_crashes"].why == "the process ended with status 3"


@pytest.mark.long
def test_a_hanging_test_is_killed_with_the_processes_that_it_started(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    script = f"import time; time.sleep(4); open({str(mark)!r}, 'w')"
    (tmp_path / "test_a.py").write_text(
        "import subprocess, sys\n\n"
        f"def test_hangs():\n    subprocess.run([sys.executable, '-c', {script!r}], start_new_session=True)\n"
    )
    assert ends(run(tmp_path)) == {"test_hangs": "hung"}
    later = run(tmp_path, "command", command=("sleep", "4"), limits=TestLimits(stall_s=60))
    assert ends(later) == {WHOLE: "passed"}
    assert not mark.exists()


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="processes are found through /proc")
def test_a_server_that_a_passing_test_leaves_running_ends_with_the_run(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    (tmp_path / "test_a.py").write_text(
        "import subprocess\n\n"
        "def test_starts():\n"
        "    left = subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
        f"    open({str(pid_file)!r}, 'w').write(str(left.pid))\n"
    )
    assert ends(run(tmp_path)) == {"test_starts": "passed"}
    assert has_ended(int(pid_file.read_text()))


def has_ended(pid: int) -> bool:
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        if is_ready(process, 5.0):
            return True
        signal.pidfd_send_signal(process, signal.SIGKILL)
        return False
    finally:
        os.close(process)


@pytest.mark.long
def test_a_run_beyond_its_time_ends_and_blames_no_test(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text("import time\n\ndef test_slow():\n    time.sleep(30)\n")
    found = run(tmp_path, limits=TestLimits(run_s=1.0, start_s=60.0, stall_s=60.0))
    assert (found.ends, found.is_complete) == ({}, False)
    assert "the run took longer than 1 s" in found.broken[""]


@pytest.mark.long
def test_a_collection_that_hangs_ends_and_is_told(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text("import time\ntime.sleep(60)\n")
    found = run(tmp_path, limits=TestLimits(run_s=60.0, start_s=1.0, stall_s=60.0))
    assert (found.ends, found.is_complete) == ({}, False)
    assert "no test began within 1 s" in found.broken[""]


def test_a_file_that_cannot_be_collected_is_named_and_the_others_run(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text("import not_there_at_all\n")
    (tmp_path / "test_b.py").write_text("def test_b(): pass\n")
    found = run(tmp_path)
    assert ends(found) == {"test_b": "passed"}
    assert "No module named 'not_there_at_all'" in found.broken["test_a.py"]


def test_fixtures_that_fail_and_expected_failures_count_as_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text(
        "import pytest\n\n"
        "@pytest.fixture\ndef broken():\n    yield\n    raise ValueError('after')\n\n"
        "@pytest.fixture\ndef unusable():\n    raise ValueError('before')\n\n"
        "def test_after(broken): pass\n\ndef test_before(unusable): pass\n\n"
        "@pytest.mark.xfail\ndef test_expected(): assert False\n\n"
        "@pytest.mark.xfail\ndef test_lucky(): pass\n\n"
        "@pytest.mark.xfail(strict=True)\ndef test_unexpected(): pass\n\n"
        "@pytest.mark.parametrize('text', ['a b', 'ü', '[::]', '\\n'])\ndef test_each(text): pass\n"
    )
    found = run(tmp_path)
    assert {name: outcome for name, outcome in ends(found).items() if outcome != "passed"} == {
        "test_after": "failed",
        "test_before": "failed",
        "test_expected": "skipped",
        "test_lucky": "skipped",
        "test_unexpected": "failed",
    }
    assert len(found.of("passed")) == 4
    assert run(tmp_path, only=found.of("passed")).of("passed") == found.of("passed")


@pytest.mark.long
def test_settings_that_stop_early_or_measure_coverage_hide_no_test(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -x --strict-markers\nfilterwarnings = error\n")
    (tmp_path / "test_a.py").write_text("def test_a(): assert False\n\ndef test_b(): pass\n")
    assert ends(run(tmp_path)) == {"test_a": "failed", "test_b": "passed"}
    (tmp_path / "test_0.py").write_text("import not_there_at_all\n")
    stopped = run(tmp_path, stops_at_failure=True)
    assert (ends(stopped), stopped.is_complete) == ({"test_a": "failed"}, True)


def test_tests_that_tamper_with_the_report_block_nobody(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text(
        "import os\n\ndef test_a():\n    name = os.environ['JEEVES_TEST_REPORT']\n"
        '    for line in (\'{\', \'[]\', \'{"event": "end"\', \'{"event": "end", "outcome": 1}\'):\n'
        "        open(name, 'a').write(line + chr(10))\n"
        "    assert os.path.getsize(name)\n\n"
        "def test_b():\n    name = os.environ['JEEVES_TEST_REPORT']\n"
        "    os.remove(name)\n    os.mkfifo(name)\n    os.mkfifo(name + '.calls-x')\n"
    )
    found = run(tmp_path, traced=["test_a.py"])
    assert (found.ends, found.is_complete) == ({}, False)


def test_nothing_is_written_beside_the_tests(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text("def test_a(): pass\n")
    run(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["test_a.py"]


def test_a_folder_without_tests_is_complete_and_empty(tmp_path: Path) -> None:
    found = run(tmp_path)
    assert (found.ends, found.broken, found.is_complete) == ({}, {}, True)


UNITTESTS = """\
import unittest
import marks


class Marks(unittest.TestCase):
    def test_good(self):
        self.assertEqual(marks.double(2), 4)

    def test_bad(self):
        self.assertEqual(marks.double(2), 5)

    def test_parts(self):
        for number in range(3):
            with self.subTest(number=number):
                self.assertLess(number, 2)

    @unittest.skip("later")
    def test_later(self):
        raise AssertionError

    @unittest.expectedFailure
    def test_expected(self):
        self.assertTrue(False)


class Broken(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise ValueError("no class")

    def test_never(self):
        pass
"""


def test_tests_of_unittest_are_reported_and_traced_one_by_one(tmp_path: Path) -> None:
    (tmp_path / "marks.py").write_text("def double(x):\n    return 2 * x\n")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "__init__.py").touch()
    (tmp_path / "tests" / "test_marks.py").write_text(UNITTESTS)
    found = run(tmp_path, "unittest", traced=["marks.py"])
    name = "tests.test_marks.Marks"
    assert {test.rpartition(".")[2]: end.outcome for test, end in found.ends.items()} == {
        "test_good": "passed",
        "test_bad": "failed",
        "test_parts": "failed",
        "test_later": "skipped",
        "test_expected": "skipped",
    }
    assert found.ends[f"{name}.test_bad"].why == "AssertionError: 4 != 5"
    assert found.calls == {"marks.py:1": (f"{name}.test_bad", f"{name}.test_good")}
    assert any("no class" in why for why in found.broken.values())
    assert run(tmp_path, "unittest", only=[f"{name}.test_good"]).of("passed") == (f"{name}.test_good",)


CASE = "import unittest\n\nclass T(unittest.TestCase):\n    def test_it(self): pass\n"


@pytest.mark.parametrize(
    ("files", "test"),
    [
        (("test_a.py",), "test_a.T.test_it"),
        (("tests/test_a.py",), "test_a.T.test_it"),
        (("tests/__init__.py", "tests/test_a.py"), "tests.test_a.T.test_it"),
        (("pkg/__init__.py", "pkg/tests/__init__.py", "pkg/tests/a_tests.py"), "pkg.tests.a_tests.T.test_it"),
    ],
)
def test_tests_of_unittest_are_found_in_the_places_and_under_the_names_that_are_usual(
    tmp_path: Path, files: tuple[str, ...], test: str
) -> None:
    for file in files:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("" if file.endswith("__init__.py") else CASE)
    assert run(tmp_path, "unittest").of("passed") == (test,)


def test_a_command_of_the_operator_is_one_test_or_those_of_the_pytest_that_it_runs(tmp_path: Path) -> None:
    assert ends(run(tmp_path, "command", command=("true",))) == {WHOLE: "passed"}
    failed = run(tmp_path, "command", command=("sh", "-c", "echo broken; exit 3"))
    assert (ends(failed), failed.ends[WHOLE].why) == ({WHOLE: "failed"}, "broken\n")
    (tmp_path / "test_a.py").write_text("def test_a(): pass\n\ndef test_b(): assert False\n")
    told = run(tmp_path, "command", command=("sh", "-c", f"{sys.executable} -m pytest -q"))
    assert ends(told) == {"test_a": "passed", "test_b": "failed"}


@pytest.mark.long
def test_a_pytest_that_a_test_starts_is_none_of_ours(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "case_x.py").write_text("def test_inner(): pass\n")
    (tmp_path / "test_a.py").write_text(
        "import subprocess, sys\n\ndef test_outer():\n"
        "    subprocess.run([sys.executable, '-m', 'pytest', '-q', 'inner/case_x.py'], check=True)\n"
    )
    assert ends(run(tmp_path)) == {"test_outer": "passed"}
    command = ("sh", "-c", f"{sys.executable} -m pytest -q test_a.py")
    assert ends(run(tmp_path, "command", command=command)) == {"test_outer": "passed"}


@pytest.mark.parametrize("version", ["3.8", "3.10", "3.12", "3.13"])
def test_tests_are_reported_and_traced_in_interpreters_other_than_ours(tmp_path: Path, version: str) -> None:
    program = shutil.which(f"python{version}")
    if program is None or subprocess.run([program, "-c", ""], check=False, capture_output=True).returncode:
        pytest.skip(f"no Python {version} is on this machine")
    (tmp_path / "marks.py").write_text("def double(x):\n    return 2 * x\n\ndef other():\n    pass\n")
    (tmp_path / "test_marks.py").write_text(
        "import threading, unittest, marks\n\n"
        "class T(unittest.TestCase):\n"
        "    def test_one(self):\n        marks.double(1)\n"
        "    def test_two(self):\n        marks.double(1)\n"
        "    def test_thread(self):\n"
        "        thread = threading.Thread(target=marks.other)\n        thread.start()\n        thread.join()\n"
    )
    setup = TestSetup(program, "unittest")
    found = TestRunner(tmp_path, setup, LIMITS, (".",)).run(traced=["marks.py"])
    assert len(found.of("passed")) == 3
    assert found.calls == {
        "marks.py:1": ("test_marks.T.test_one", "test_marks.T.test_two"),
        "marks.py:4": ("test_marks.T.test_thread",),
    }


@pytest.mark.long
def test_tests_that_run_in_several_processes_are_reported_and_traced_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD")
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -n 2 -p no:asyncio\n")
    (tmp_path / "marks.py").write_text("def double(x):\n    return 2 * x\n")
    (tmp_path / "test_a.py").write_text(
        "import os, time, pytest, marks\n\n"
        "@pytest.mark.parametrize('x', range(6))\ndef test_each(x): assert marks.double(x) == 2 * x\n\n"
        "def test_bad(): assert marks.double(1) == 3\n\ndef test_hangs(): time.sleep(60)\n"
    )
    found = run(tmp_path, traced=["marks.py"], limits=TestLimits(run_s=120.0, start_s=60.0, stall_s=5.0))
    outcomes = ends(found)
    assert (outcomes["test_bad"], outcomes["test_hangs"]) == ("failed", "hung")
    assert len(found.of("passed")) == 6
    assert len(found.calls["marks.py:1"]) == 7
