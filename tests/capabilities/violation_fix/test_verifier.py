"""What the checks and tests say of a fix: before it, of good ones, and of each way in which one is bad."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from actors.capabilities.violation_fix.checks.options import CheckOptions, ProjectRule
from actors.capabilities.violation_fix.checks.violation import Violation
from actors.capabilities.violation_fix.verification.carried_files import carry_ignored
from actors.capabilities.violation_fix.verification.comparison import with_fault_checks
from actors.capabilities.violation_fix.verification.test_runs import WHOLE
from actors.capabilities.violation_fix.verification.test_setup import TestSetup
from actors.capabilities.violation_fix.verification.verdicts import Baseline, Verification, load_baseline, save_baseline
from actors.capabilities.violation_fix.verification.verifier import ALL_TRIED_BELOW_S, Verifier
from runtime.codebase.git.commits import commit_change
from runtime.codebase.git.side_branches import drop_commit, pick_commit
from runtime.codebase.git.work_trees import WorkTree
from tests.capabilities.violation_fix.fixed_project import CODE, project, workspace
from tests.runtime.codebase.test_git_writing import WHO, git

FILE = "src/pkg/marks.py"
GRADED = CODE[CODE.index("def graded") : CODE.index("def untested")]
SIMPLER = """\
def graded(points):
    for limit, grade in ((90, "a"), (80, "b"), (70, "c")):
        if points > limit:
            return grade
    return "d"


"""
FIXED = CODE.replace(GRADED, SIMPLER)


class Site:
    """The project with its baseline, and a work tree for each test."""

    def __init__(self, folder: Path) -> None:
        self.root = project(folder / "project")
        place = workspace(self.root, "base")
        self.baseline = Verifier(place).baseline([FILE])
        self._made = 0

    @property
    def violation(self) -> Violation:
        return next(each for each in self.baseline.violations if each.check_id == "C901")

    def tree(self) -> tuple[Verifier, Path]:
        self._made += 1
        place = workspace(self.root, f"t{self._made}")
        return Verifier(place), Path(place.tree.folder)

    def verified(self, text: str, scope: str = "all", **others: str) -> Verification:
        verifier, folder = self.tree()
        (folder / FILE).write_text(text)
        for name, content in others.items():
            (folder / f"{name}.txt").write_text(content)
        return verifier.verify(self.baseline, self.violation, scope)  # type: ignore[arg-type]


@pytest.fixture(scope="module", autouse=True)
def _without_our_plugins() -> Iterator[None]:
    """The plugins of our own environment take seconds to load, in each of these runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        yield


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return Site(tmp_path_factory.mktemp("verified"))


def test_the_baseline_tells_the_tests_that_pass_from_those_that_fail_or_are_skipped(site: Site) -> None:
    baseline = site.baseline
    assert [each.check_id for each in baseline.violations] == ["F401", "C901"]
    assert len(baseline.passed) == 6
    assert list(baseline.failing) == ["tests/test_marks.py::test_that_fails"]
    assert baseline.skipped == ("tests/test_marks.py::test_skipped",)
    assert (baseline.flaky, baseline.hanging, baseline.is_complete) == ((), (), True)
    assert git(site.root, "status", "--porcelain") == ""


def test_the_baseline_knows_which_passing_tests_call_which_function(site: Site) -> None:
    calls = site.baseline.calls
    assert set(calls) == {f"{FILE}:4", f"{FILE}:19", f"{FILE}:22"}
    assert len(calls[f"{FILE}:4"]) == 4
    assert site.baseline.callers(FILE) == frozenset(site.baseline.passed) - {"tests/test_other.py::test_other"}


def test_a_baseline_that_was_saved_is_the_same(site: Site, tmp_path: Path) -> None:
    save_baseline(site.baseline, tmp_path / "baseline.json")
    assert load_baseline(tmp_path / "baseline.json") == site.baseline
    assert [path.name for path in tmp_path.iterdir()] == ["baseline.json"]


def test_a_good_fix_is_good_and_tests_that_failed_before_may_fail(site: Site) -> None:
    done = site.verified(FIXED)
    assert (done.is_good, done.broken) == (True, ())
    assert (done.checks.is_fixed, done.checks.failing, [each.check_id for each in done.checks.stayed]) == (
        True,
        0,
        ["F401"],
    )
    assert done.tests is not None
    assert (done.tests.passed, done.tests.regressions) == (6, {})
    assert done.told == "All checks passed\n6 passed"


def test_affected_tests_are_those_that_call_into_the_file(site: Site) -> None:
    done = site.verified(FIXED, "affected")
    assert done.tests is not None
    assert done.tests.passed == 5


@pytest.mark.long
def test_a_fix_that_breaks_a_test_names_it(site: Site) -> None:
    done = site.verified(FIXED.replace('(80, "b")', '(85, "b")'))
    assert not done.is_good
    assert done.tests is not None
    assert list(done.tests.regressions) == ["tests/test_marks.py::test_grades[85-b]"]
    assert "FAILED tests/test_marks.py::test_grades[85-b] - AssertionError" in done.told
    assert "1 failed, 4 passed" in done.told


@pytest.mark.long
def test_an_edit_that_leaves_the_violation_is_not_good_and_not_broken(site: Site) -> None:
    done = site.verified(CODE.replace('"d"', "'d'"))
    assert (done.is_good, done.broken, done.checks.is_fixed, done.checks.failing) == (False, (), False, 1)
    assert f"{FILE}:4:5: C901" in done.told
    assert "Found 1 violations" in done.told


BAD: dict[str, tuple[Callable[[], str], str]] = {
    "another violation": (lambda: FIXED + "import sys\n", "new violation: .* F401 `sys` imported"),
    "a syntax error": (lambda: FIXED + "def (:\n", "syntax-error"),
    "a signature": (lambda: FIXED.replace("def add(self):", "def add(self, by=1):"), "signatures changed: Counter.add"),
    "a name": (lambda: FIXED.replace("def untested", "def _untested"), "public signatures changed: untested"),
    "an excuse": (lambda: FIXED.replace("import os", "import os  # noqa: F401"), "excuse violations were added"),
    "our excuse": (lambda: FIXED + "# jeeves: allow long-function - it is a table\n", "excuse violations were added"),
    "no text": (lambda: FIXED + "\0", "cannot be parsed|binary"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_fix_that_breaks_a_promise_is_refused_before_any_test_runs(site: Site, name: str) -> None:
    make, told = BAD[name]
    done = site.verified(make())
    assert (done.is_good, done.tests) == (False, None)
    assert any(re.search(told, each) for each in done.broken), done.broken


def test_a_fix_that_moves_complexity_elsewhere_is_refused(site: Site) -> None:
    moved = CODE.replace(
        "def graded(points):", "def graded(points):\n    return _graded(points)\n\n\ndef _graded(points):"
    )
    done = site.verified(moved)
    assert not done.is_good
    assert "C901 `_graded` is too complex" in done.broken[0]


@pytest.mark.parametrize(
    ("text", "told"), [("    unused = 1\n", "F841"), ("    unused: int\n", "F842"), ("    missing()\n", "F821")]
)
def test_an_edit_that_brings_a_fault_is_refused_whatever_was_selected(tmp_path: Path, text: str, told: str) -> None:
    root = project(tmp_path / "project", src__pkg__marks=CODE + "\n\ndef old():\n    kept = 1\n")
    place = workspace(root, "one")
    options = with_fault_checks(CheckOptions(select=("C901",), max_complexity=3))
    verifier = Verifier(type(place)(place.tree, type(place.setup)(place.setup.python, "none"), options))
    baseline = verifier.baseline([FILE])
    violation = next(each for each in baseline.violations if each.check_id == "C901")
    file = Path(place.tree.folder) / FILE
    file.write_text(FIXED + "\n\ndef old():\n    kept = 1\n")
    assert verifier.verify(baseline, violation).is_good
    file.write_text(file.read_text().replace("    return points + 1\n", text + "    return points + 1\n"))
    assert [told in each for each in verifier.verify(baseline, violation).broken] == [True]


def test_another_file_that_changed_is_named_and_the_fix_refused(site: Site) -> None:
    done = site.verified(FIXED, notes="mine")
    assert done.broken == ("files changed that are not the violation's: notes.txt",)


def test_an_exception_planted_in_a_function_that_tests_watch_turns_one_red_and_the_file_is_as_before(
    site: Site,
) -> None:
    verifier, folder = site.tree()
    proof = verifier.covers(site.baseline, FILE, 6)
    assert (proof.function, proof.is_proven, len(proof.tests)) == ("graded", True, 4)
    assert proof.red.startswith("tests/test_marks.py::test_grades")
    assert (folder / FILE).read_text() == CODE
    assert git(folder, "status", "--porcelain") == ""


@pytest.mark.long
def test_a_function_that_earlier_fixes_moved_is_known_by_its_name(site: Site) -> None:
    """Its first line was that of another function when the baseline was taken."""
    verifier, folder = site.tree()
    moved = "# moved\n" * 15 + CODE
    (folder / FILE).write_text(moved)
    commit_change(verifier.place.tree, [FILE], "Move", "x", WHO)
    proof = verifier.covers(site.baseline, FILE, 21)
    assert (proof.function, proof.is_proven, len(proof.tests)) == ("graded", True, 4)
    assert [each.name for each in verifier.untested(site.baseline, FILE)] == ["untested"]
    assert (folder / FILE).read_text() == moved


def test_a_function_that_no_test_executes_is_told_apart(site: Site) -> None:
    verifier, _ = site.tree()
    proof = verifier.covers(site.baseline, FILE, 15)
    assert (proof.function, proof.is_proven, proof.why) == ("untested", False, "no passing test executes it")
    assert [each.name for each in verifier.untested(site.baseline, FILE)] == ["untested"]
    assert verifier.covers(site.baseline, FILE, 1).why == f"no function is around line 1 of {FILE}"


@pytest.mark.long
def test_tests_that_import_another_copy_are_found_out(tmp_path: Path) -> None:
    """The installed copy wins, as with an editable install elsewhere whose hook comes first."""
    copy = tmp_path / "installed"
    (copy / "pkg").mkdir(parents=True)
    (copy / "pkg" / "__init__.py").touch()
    (copy / "pkg" / "marks.py").write_text(CODE)
    root = project(tmp_path / "project", conftest=f"import sys\nsys.path.insert(0, {str(copy)!r})\n")
    verifier = Verifier(workspace(root, "one"))
    baseline = verifier.baseline([FILE])
    assert (len(baseline.passed), baseline.calls) == (6, {})
    proof = verifier.covers(baseline, FILE, 6)
    assert (proof.is_proven, proof.why) == (False, "no passing test executes it")
    # Even one whose calls seem known has to turn red.
    told = {f"{FILE}:4": baseline.passed}
    proof = verifier.covers(Baseline(**{**fields(baseline), "calls": told}), FILE, 6)
    assert (proof.is_proven, "or import another copy" in proof.why) == (False, True)


def fields(baseline: Baseline) -> dict[str, Any]:
    return {name: getattr(baseline, name) for name in baseline.__struct_fields__}


@pytest.mark.long
def test_two_fixes_that_break_each_other_are_found_out_on_the_branch_that_collects_them(tmp_path: Path) -> None:
    shared = CODE.replace("def graded", "_BEST = 90\n\n\ndef graded").replace("points > 90", "points > _BEST")
    root = project(tmp_path / "project", src__pkg__marks=shared)
    baseline = Verifier(workspace(root, "base")).baseline([FILE])
    violation = next(each for each in baseline.violations if each.check_id == "C901")
    fixes = {
        "one": shared.replace("_BEST = 90\n\n\n", "").replace(
            shared[shared.index("def graded") : shared.index("def untested")], SIMPLER
        ),
        "two": shared.replace("self.count += 1", "self.count += _BEST // 90"),
    }
    collected = workspace(root, "all", prefix="jeeves_fixes_")
    for name, text in fixes.items():
        place = workspace(root, name)
        (Path(place.tree.folder) / FILE).write_text(text)
        assert Verifier(place).verify(baseline, violation).broken == ()
        commit = commit_change(place.tree, [FILE], name, name, WHO)
        head = git(root, "rev-parse", collected.tree.branch)
        picked = pick_commit(collected.tree, commit, WHO)
        tree = WorkTree(collected.tree.folder, collected.tree.branch, "", head, is_linked=True)
        again = Verifier(msgspec.structs.replace(collected, tree=tree)).verify(baseline, violation)
        assert (again.broken == ()) == (name == "one"), again.broken
    assert "new violation: " in again.broken[0]
    assert "`_BEST`" in again.broken[0]
    assert drop_commit(collected.tree, picked) == head


SUBPROCESS = """\
import subprocess
import sys

def test_in_a_process_of_its_own():
    code = "from pkg.marks import untested; print(untested(1))"
    assert subprocess.check_output([sys.executable, "-c", code]) == b"2\\n"
"""


@pytest.mark.long
def test_a_function_that_a_test_executes_in_another_process_is_proven_too(tmp_path: Path) -> None:
    root = project(tmp_path / "project", tests__test_process=SUBPROCESS)
    verifier = Verifier(workspace(root, "base"))
    baseline = verifier.baseline([FILE])
    proof = verifier.covers(baseline, FILE, 15)
    assert (proof.is_proven, proof.red) == (True, "tests/test_process.py::test_in_a_process_of_its_own")
    slow = msgspec.structs.replace(baseline, duration_s=ALL_TRIED_BELOW_S + 1)
    assert not verifier.covers(slow, FILE, 15).is_proven


def test_a_command_that_is_one_test_is_verified_as_one(tmp_path: Path) -> None:
    root = project(tmp_path / "project")
    check = "from pkg.marks import graded; assert graded(95) == 'a'"
    made = TestSetup(sys.executable, "command", (sys.executable, "-c", check))
    place = workspace(root, "base", made)
    verifier = Verifier(place)
    baseline = verifier.baseline([FILE])
    assert baseline.passed == (WHOLE,)
    assert verifier.covers(baseline, FILE, 6).is_proven
    file = Path(place.tree.folder) / FILE
    violation = next(each for each in baseline.violations if each.check_id == "C901")
    file.write_text(FIXED.replace('(90, "a")', '(99, "a")'))
    bad = verifier.verify(baseline, violation, "affected")
    assert bad.tests is not None
    assert list(bad.tests.regressions) == [WHOLE]
    file.write_text(FIXED)
    assert verifier.verify(baseline, violation).is_good


@pytest.mark.long
def test_what_a_build_made_and_git_ignores_is_there_in_the_work_tree_and_never_committed(tmp_path: Path) -> None:
    root = project(tmp_path / "project", src__pkg__uses="from pkg._version import VERSION\n")
    (root / ".gitignore").write_text("_version.py\n*.so\n.venv/\nlink.py\n*.txt\n")
    (root / "tests" / "test_version.py").write_text(
        "from pkg.uses import VERSION\n\ndef test_it():\n    assert VERSION\n"
    )
    git(root, "add", "-A")
    git(root, "commit", "-qm", "uses")
    (root / "src" / "pkg" / "_version.py").write_text("VERSION = 1\n")
    (root / "src" / "pkg" / "fast.so").write_bytes(b"\0")
    (root / "src" / "pkg" / "secret.txt").write_text("mine")
    (root / "src" / "pkg" / "link.py").symlink_to("/etc/hostname")
    (root / ".venv").mkdir()
    (root / ".venv" / "x.py").touch()
    place = workspace(root, "one")
    baseline = Verifier(place).baseline([FILE])
    assert "tests/test_version.py::test_it" in baseline.passed
    tree = Path(place.tree.folder)
    made = sorted(path.name for path in (tree / "src" / "pkg").iterdir())
    assert made == ["__init__.py", "_version.py", "fast.so", "marks.py", "uses.py"]
    assert not (tree / ".venv").exists()
    assert carry_ignored(tree) == []
    (tree / ".gitignore").write_text("*.so\n")
    commit_change(place.tree, [".gitignore"], "Ignore less", "x", WHO)
    (tree / "src" / "pkg" / "_version.py").unlink()
    assert carry_ignored(tree) == []
    assert git(tree, "status", "--porcelain") == ""


FLAKY = """\
from pathlib import Path
from pkg.marks import graded

def test_flaky(tmp_path_factory):
    mark = Path(__file__).with_name("mark-%s")
    seen = mark.exists()
    mark.touch()
    assert seen

def test_steady():
    assert graded(95) == "a"
"""


@pytest.mark.long
def test_a_flaky_test_is_no_regression_and_what_tests_leave_behind_is_taken_back(tmp_path: Path) -> None:
    root = project(tmp_path / "project", tests__test_flaky=FLAKY % tmp_path.name)
    (root / ".git" / "info").mkdir(exist_ok=True)
    verifier = Verifier(workspace(root, "base"))
    baseline = verifier.baseline([FILE])
    assert baseline.flaky == ("tests/test_flaky.py::test_flaky",)
    assert "tests/test_flaky.py::test_flaky" not in baseline.failing
    # It passed by chance when the baseline was taken.
    lucky = Baseline(**{**fields(baseline), "passed": (*baseline.passed, *baseline.flaky), "flaky": ()})
    place = workspace(root, "fix")
    (Path(place.tree.folder) / FILE).write_text(FIXED)
    violation = next(each for each in baseline.violations if each.check_id == "C901")
    done = Verifier(place).verify(lucky, violation)
    assert done.tests is not None
    assert (done.tests.regressions, done.tests.flaky) == ({}, ("tests/test_flaky.py::test_flaky",))
    assert done.is_good
    assert git(Path(place.tree.folder), "status", "--porcelain") == f"M {FILE}"


def test_a_repository_without_tests_is_verified_by_its_checks(tmp_path: Path) -> None:
    root = project(tmp_path / "project")
    place = workspace(root, "one")
    verifier = Verifier(type(place)(place.tree, type(place.setup)(place.setup.python, "none"), place.options))
    baseline = verifier.baseline([FILE])
    assert baseline.notes == ("there are no tests",)
    assert verifier.covers(baseline, FILE, 6).why == "no test passes"
    (Path(place.tree.folder) / FILE).write_text(FIXED)
    done = verifier.verify(baseline, baseline.violations[1])
    assert (done.is_good, done.tests) == (True, None)


def test_a_comment_that_excuses_the_violation_is_no_fix_in_any_language(tmp_path: Path) -> None:
    root = project(tmp_path / "project")
    (root / "a.js").write_text("print(1);\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "second")
    place = workspace(root, "one")
    options = CheckOptions(select=("project",), rules=(ProjectRule("no-print", pattern="print"),))
    verifier = Verifier(type(place)(place.tree, type(place.setup)(place.setup.python, "none"), options))
    baseline = verifier.baseline(["a.js"])
    excused = "print(1); // jeeves: allow no-print - a command"
    (Path(place.tree.folder) / "a.js").write_text(f"{excused}\n")
    done = verifier.verify(baseline, baseline.violations[0])
    assert done.broken == ("comments that excuse violations were added: // jeeves: allow no-print - a command",)


@pytest.mark.long
def test_a_function_that_all_tests_need_is_watched_by_them(tmp_path: Path) -> None:
    conftest = "from pkg.marks import untested\n\nuntested(1)\n"
    root = project(tmp_path / "project", tests__conftest=conftest)
    place = workspace(root, "7")
    verifier = Verifier(place)
    baseline = verifier.baseline(["src/pkg/marks.py"])
    found = verifier.covers(baseline, "src/pkg/marks.py", 14)
    assert (found.is_proven, found.red in baseline.passed) == (True, True), found
