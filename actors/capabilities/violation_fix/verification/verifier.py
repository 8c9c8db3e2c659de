"""Verifies fixes: what the checks and tests say in a work tree, before and after an edit.

Everything here is data in and data out, and blocks: call it in a worker process (`runtime/processes`), or in a thread
that can be called off. Tests and linter run as processes that are killed with their children.

    setup = test_setup(repository, python=None, command=None)      # once; `setup.told` is for the person
    place = Workspace(tree, setup, options)                        # a clean work tree at the base commit
    verifier = Verifier(place)
    baseline = verifier.baseline(["src/pkg/a.py"])                 # once for all fixes of these files; `place` is clean
    save_baseline(baseline, path); baseline = load_baseline(path)  # plain JSON, so that a run can be resumed

For each fix, in a work tree of its own:

    verifier.untested(baseline, "src/pkg/a.py")                    # functions that no passing test executes
    proof = verifier.covers(baseline, "src/pkg/a.py", 120)         # line of the function, before any edit
    proof.is_proven                                                # a planted exception turned a passing test red
    ... edits ...
    verifier.check(baseline, violation)                            # checks of the file alone: a second
    verifier.verify(baseline, violation, scope="affected")         # and the tests that call into the file
    verifier.verify(baseline, violation, scope="all")              # and all others; before a commit

On the branch that fixes are collected on, to which others may have come meanwhile, the same is asked once more, with
the head before the pick as `base_commit` of the work tree; `drop_commit` takes a fix back that fails there.

A `Verification` is good if the violation is gone, no check complains anew, no other file changed, the public signatures
and the comments that excuse violations are as they were, and no test that passed fails, hangs or is missing. A test
that fails is run again alone; one that then passes is flaky and no regression. What a build left in the operator's
folder and git ignores (`_version.py`, extensions) is copied first. What tests leave behind in the work tree is taken
back after each run, the edited file kept. `Verification.told` has the words that facts are drawn from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from actors.capabilities.violation_fix.checks.listing import list_violations
from actors.capabilities.violation_fix.checks.place_exceptions import exceptions_in
from actors.capabilities.violation_fix.checks.source_files import MAX_FILE_BYTES
from actors.capabilities.violation_fix.checks.violation import Violation
from actors.capabilities.violation_fix.verification.affected_tests import affected_tests, import_roots
from actors.capabilities.violation_fix.verification.carried_files import carry_ignored
from actors.capabilities.violation_fix.verification.comparison import compared, is_fixed
from actors.capabilities.violation_fix.verification.hidden_git import show_git
from actors.capabilities.violation_fix.verification.python_source import (
    FunctionPlace,
    excuses,
    function_at,
    functions_of,
    public_signatures,
    with_planted_exception,
)
from actors.capabilities.violation_fix.verification.test_runs import TestEnd, TestRun, TestRunner
from actors.capabilities.violation_fix.verification.verdicts import (
    Baseline,
    CheckVerdict,
    Coverage,
    Scope,
    TestVerdict,
    Verification,
    Workspace,
)
from runtime.codebase.files.regular_file import read_below
from runtime.codebase.git.git_writer import GitWriter
from runtime.codebase.git.side_branches import restore_tree
from runtime.codebase.git.work_trees import changes_since, printable
from runtime.errors import RepositoryError

MAX_NAMED = 20
ALL_TRIED_BELOW_S = 60.0
_RED = ("failed", "hung", "crashed")


class Verifier:
    """Verifies one work tree."""

    def __init__(self, place: Workspace) -> None:
        self.place = place
        self._tree = Path(place.tree.folder)
        self._is_prepared = False
        # A process that was killed while tests ran left the link to the repository hidden.
        show_git(self._tree)

    def baseline(self, files: Sequence[str]) -> Baseline:
        """Take the baseline in a clean work tree: violations of `files`, and all tests, failing ones several times."""
        violations = list_violations(self._tree, files, self.place.options).violations
        commit = self.place.tree.base_commit
        if not self.place.setup.has_tests:
            return Baseline(commit, tuple(files), violations, notes=("there are no tests",))
        runner = self._runner(files)
        run = runner.run(traced=files)
        failed = dict(_red(run))
        flaky: list[str] = []
        for _ in range(self.place.limits.reruns):
            again = [test for test in failed if run.ends[test].outcome == "failed" and test not in flaky]
            if not again:
                break
            flaky += runner.run(only=again).of("passed")
        restore_tree(self.place.tree)
        passed = run.of("passed")
        calls = {
            function: kept
            for function, tests in run.calls.items()
            if (kept := tuple(test for test in tests if run.ends[test].outcome == "passed"))
        }
        return Baseline(
            commit,
            tuple(files),
            violations,
            passed=passed,
            failing={test: why for test, why in failed.items() if test not in flaky},
            skipped=run.of("skipped"),
            flaky=tuple(flaky),
            hanging=run.of("hung", "crashed"),
            calls=calls,
            is_complete=run.is_complete,
            notes=tuple(f"{file or 'tests'}: {why}" for file, why in run.broken.items()),
            duration_s=run.duration_s,
        )

    def covers(self, baseline: Baseline, path: str, line: int) -> Coverage:
        """Return whether passing tests watch over the function around a line, proven by an exception planted in it.

        The file is as before afterwards, also after an error; after a kill, `restore_tree` makes it so.
        """
        source = read_below(self._tree, path, MAX_FILE_BYTES)
        try:
            place = function_at(source, line)
            planted = with_planted_exception(source, place.first_line) if place is not None else None
        except (SyntaxError, ValueError) as error:
            return Coverage("", (), False, why=f"{path} cannot be parsed: {error}")
        if place is None or planted is None:
            return Coverage("", (), False, why=f"no function is around line {line} of {path}")
        if not baseline.passed:
            return Coverage(place.name, (), False, why="no test passes")
        tests = self._callers(baseline, path).get(place.name, ())
        red = None
        for tried in self._likely(baseline, path, tests):
            red = red or self._turned_red(path, source, planted, tried)
        if red is None:
            why = "an exception planted in it turns no test red: the tests do not watch it, or import another copy"
            return Coverage(place.name, tests, False, why=why if tests else "no passing test executes it")
        return Coverage(place.name, tuple(tests) or (red,), True, red)

    def untested(self, baseline: Baseline, path: str) -> tuple[FunctionPlace, ...]:
        """Return the functions of a file of the baseline that no passing test executes, as far as tests were traced.

        What tests do in processes of their own is not traced. Raises SyntaxError or ValueError.
        """
        known = self._callers(baseline, path)
        functions = functions_of(read_below(self._tree, path, MAX_FILE_BYTES))
        return tuple(each for each in functions if not known.get(each.name))

    def check(self, baseline: Baseline, violation: Violation) -> CheckVerdict:
        """Return what the checks say of the file of a violation, and of what else changed in the work tree."""
        path = violation.path
        before = [each for each in baseline.violations if each.path == path]
        problems = list(self._foreign_changes(path)) + list(self._broken_promises(baseline, path))
        after: tuple[Violation, ...] = ()
        try:
            report = list_violations(self._tree, [path], self.place.options)
            after = report.violations
            problems += [f"{each.path} cannot be checked any more: {each.reason}" for each in report.unchecked]
        except RepositoryError as error:
            problems.append(error.message)
        found = compared(before, after)
        fixed = is_fixed(violation, found)
        problems += [f"new violation: {_line(each)}" for each in found.new]
        failing = len(found.new) + (0 if fixed else 1)
        told = _told_of_checks(violation, fixed, found.new, problems)
        passing = max(len(self.place.options.select) - len({each.check_id for each in found.new}) - (not fixed), 0)
        return CheckVerdict(fixed, passing, failing, found.new, found.stayed, tuple(problems), told)

    def test(self, baseline: Baseline, path: str, scope: Scope) -> TestVerdict | None:
        """Run the tests that an edit of a file affects, or all; None where there are none to run.

        The tests of the scope `affected` are those that call a function of the file, else those that import it.
        """
        if not self.place.setup.has_tests or not baseline.passed:
            return None
        return self._tested(path, frozenset(baseline.passed) if scope == "all" else self._affected(baseline, path))

    def _affected(self, baseline: Baseline, path: str) -> frozenset[str]:
        found = baseline.callers(path) or affected_tests(self._tree, path, baseline.passed)
        return frozenset(found) & frozenset(baseline.passed)

    def _tested(self, path: str, wanted: frozenset[str]) -> TestVerdict:
        if not wanted:
            return TestVerdict(0, 0, {}, (), True, "No tests ran")
        runner = self._runner([path])
        run = runner.run(only=wanted)
        regressions = _regressions(run, wanted)
        flaky = self._flaky(runner, regressions)
        restore_tree(self.place.tree, [path])
        left = {test: why for test, why in regressions.items() if test not in flaky}
        passed = len(run.of("passed")) + len(flaky)
        told = _told_of_tests(passed, left)
        return TestVerdict(len(run.ends), passed, left, tuple(flaky), run.is_complete or bool(left), told)

    def verify(self, baseline: Baseline, violation: Violation, scope: Scope = "all") -> Verification:
        """Return both verdicts; tests run only where the checks find nothing broken, the affected ones first."""
        checks = self.check(baseline, violation)
        if checks.problems:
            return Verification(checks)
        first = self.test(baseline, violation.path, "affected")
        if scope == "affected" or first is None or first.regressions:
            return Verification(checks, first)
        rest = frozenset(baseline.passed) - self._affected(baseline, violation.path)
        return Verification(checks, _joined(first, self._tested(violation.path, rest)) if rest else first)

    def _runner(self, files: Sequence[str]) -> TestRunner:
        if not self._is_prepared:
            carry_ignored(self._tree)
            self._is_prepared = True
        return TestRunner(self._tree, self.place.setup, self.place.limits, import_roots(self._tree, files))

    def _likely(self, baseline: Baseline, path: str, callers: Sequence[str]) -> list[Sequence[str]]:
        """Return the tests to try, in turn: those that call a function, else those that import its file, and all.

        What a test does in a process of its own is not traced, so all are tried where that does not take long.
        """
        if callers:
            return [callers]
        importing = affected_tests(self._tree, path, baseline.passed)
        others = tuple(sorted(set(baseline.passed) - set(importing)))
        takes_long = baseline.duration_s > ALL_TRIED_BELOW_S
        return [tests for tests in (importing, () if takes_long else others) if tests]

    def _turned_red(self, path: str, source: bytes, planted: bytes, tests: Sequence[str]) -> str | None:
        """Return a test that fails with a planted exception and passes without it."""
        runner, file = self._runner([path]), self._tree / path
        try:
            _write(file, planted)
            run = runner.run(only=tests, stops_at_failure=True)
        finally:
            _write(file, source)
            restore_tree(self.place.tree)
        wanted = frozenset(tests)
        red = [test for test, _ in _red(run) if test in wanted]
        red += [test for test in tests if any(test.startswith(file) for file in run.broken if file)]
        if not red and not run.ends:
            # It breaks what all tests need, such as a conftest.py: the run below shows that nothing else does.
            red = list(tests[:1])
        for test in red[:3]:
            if test in runner.run(only=[test]).of("passed"):
                return test
        return None

    def _flaky(self, runner: TestRunner, regressions: Mapping[str, str]) -> list[str]:
        """Return the tests that pass when they are run again."""
        flaky: list[str] = []
        for _ in range(self.place.limits.reruns):
            again = [test for test in regressions if test not in flaky]
            if not again or len(again) > MAX_NAMED:
                break
            flaky += runner.run(only=again).of("passed")
        return flaky

    def _callers(self, baseline: Baseline, path: str) -> dict[str, tuple[str, ...]]:
        """Return the passing tests that call each function of a file, by qualified name.

        Lines are those of the baseline: commits of earlier fixes may have moved the functions since.
        """
        try:
            functions = functions_of(self._source_then(baseline, path))
        except (SyntaxError, ValueError):
            return {}
        found: dict[str, tuple[str, ...]] = {}
        for each in functions:
            # Of several with one name, as behind `if` and `else`, any may be called.
            found[each.name] = (*found.get(each.name, ()), *baseline.calls.get(f"{path}:{each.first_line}", ()))
        return found

    def _source_then(self, baseline: Baseline, path: str) -> bytes:
        """Return a file as it was when the baseline was taken; empty where it was not there."""
        with GitWriter(self._tree) as git:
            told, status = git.status_of("show", "--no-textconv", f"{baseline.commit}:{path}", accepted=(0, 128))
        return told.encode("utf-8", "surrogateescape") if status == 0 else b""

    def _foreign_changes(self, path: str) -> Sequence[str]:
        with GitWriter(self._tree) as git:
            changed = changes_since(git, self.place.tree.base_commit, lambda _file: False)
        foreign = [printable(each.file) for each in changed if each.file != path]
        return [f"files changed that are not the violation's: {', '.join(foreign[:MAX_NAMED])}"] if foreign else []

    def _broken_promises(self, baseline: Baseline, path: str) -> Sequence[str]:
        """Return what changed in a file that a fix leaves alone: public signatures, and comments that excuse."""
        before = self._source_then(baseline, path)
        if not path.endswith(".py"):
            return _told_of_excuses(self._exceptions_added(path, before))
        try:
            after = read_below(self._tree, path, MAX_FILE_BYTES)
            exports = path.endswith("__init__.py")
            offered, now = (public_signatures(each, exports_imports=exports) for each in (before, after))
            more = [*(excuses(after) - excuses(before)), *self._exceptions_added(path, before)]
        except (SyntaxError, ValueError, OSError) as error:
            return [f"{path} cannot be parsed: {error}"]
        gone = [name for name, signature in offered.items() if now.get(name) != signature]
        return [
            *([f"public signatures changed: {', '.join(gone[:MAX_NAMED])}"] if gone else []),
            *_told_of_excuses(more),
        ]

    def _exceptions_added(self, path: str, before: bytes) -> list[str]:
        """Return our own comments that excuse violations and were not in a file before, in any language."""
        try:
            after = read_below(self._tree, path, MAX_FILE_BYTES)
        except OSError:
            # The listing says that the file cannot be checked.
            return []
        then, now = (exceptions_in(each.decode("utf-8", "replace")) for each in (before, after))
        return list(now - then)


def _told_of_excuses(comments: Sequence[str]) -> list[str]:
    return [f"comments that excuse violations were added: {', '.join(comments[:MAX_NAMED])}"] if comments else []


def _write(file: Path, content: bytes) -> None:
    mode = file.stat().st_mode
    fresh = file.with_name(f".{file.name}.jeeves")
    fresh.write_bytes(content)
    fresh.chmod(mode)
    fresh.replace(file)


def _red(run: TestRun) -> list[tuple[str, str]]:
    return [(test, end.why) for test, end in run.ends.items() if end.outcome in _RED]


def _regressions(run: TestRun, wanted: frozenset[str]) -> dict[str, str]:
    """Return the wanted tests that did not pass, with the reason.

    A test whose parameters have another name each time, as an address, is not missing while one of its kind ran.
    """
    found: dict[str, str] = {}
    kinds = {test.partition("[")[0] for test in run.ends}
    for test in sorted(wanted):
        end = run.ends.get(test)
        if end is None:
            if test.partition("[")[0] not in kinds and (why := _missing(run, test)):
                found[test] = why
        elif end.outcome in _RED or end.outcome == "skipped":
            found[test] = _why(end)
    return found


def _missing(run: TestRun, test: str) -> str:
    broken = next((why for file, why in run.broken.items() if file and test.startswith(file)), None)
    if broken is not None:
        return f"its file cannot be collected: {broken}"
    return "it did not run" if run.is_complete else ""


def _why(end: TestEnd) -> str:
    told = {"skipped": "it is skipped now", "hung": f"it hangs: {end.why}", "crashed": f"it crashes: {end.why}"}
    return told.get(end.outcome, " ".join(end.why.split()) or "it fails")


def _line(violation: Violation) -> str:
    return f"{violation.path}:{violation.line}:{violation.column}: {violation.check_id} {violation.message}"


def _told_of_checks(violation: Violation, fixed: bool, new: Sequence[Violation], problems: Sequence[str]) -> str:
    lines = [] if fixed else [_line(violation)]
    lines += [_line(each) for each in new]
    lines += [each for each in problems if not each.startswith("new violation")]
    if not lines:
        return "All checks passed"
    count = len(new) + (not fixed)
    return "\n".join([*lines, f"Found {count} violations"] if count else lines)


def _joined(first: TestVerdict, second: TestVerdict) -> TestVerdict:
    passed, regressions = first.passed + second.passed, {**first.regressions, **second.regressions}
    return TestVerdict(
        first.ran + second.ran,
        passed,
        regressions,
        (*first.flaky, *second.flaky),
        first.is_complete and second.is_complete,
        _told_of_tests(passed, regressions),
    )


def _told_of_tests(passed: int, regressions: Mapping[str, str]) -> str:
    lines = [f"FAILED {test} - {why.splitlines()[0] if why else ''}" for test, why in regressions.items()]
    counts = [f"{len(regressions)} failed"] if regressions else []
    counts += [f"{passed} passed"] if passed else []
    return "\n".join([*lines[:MAX_NAMED], ", ".join(counts) or "no tests ran"])
