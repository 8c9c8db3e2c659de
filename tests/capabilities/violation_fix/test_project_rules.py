"""Rules of a project: by pattern or command, and inert until the operator allowed their exact content."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from actors.capabilities.violation_fix.checks.command_rules import MAX_FINDINGS
from actors.capabilities.violation_fix.checks.listing import list_violations
from actors.capabilities.violation_fix.checks.options import CheckOptions
from actors.capabilities.violation_fix.checks.project_rules import NOT_ALLOWED, RULES_FILE, parse_checks, project_checks
from actors.capabilities.violation_fix.checks.violation import CheckReport
from runtime.codebase.files.consent import Consent, digest_of
from runtime.errors import DocumentFaults
from runtime.processes.named_commands import MAX_OUTPUT_BYTES
from tests.repositories import write_files
from tests.runtime.codebase.test_git_writing import WHO, git

PRINTS = """
rules:
  - {id: no-print, pattern: '\\bprint\\(', message: log instead, paths: ["src/"], severity: error}
test_command: [make, test]
"""


def listed(root: Path, text: str, *select: str) -> CheckReport:
    options = CheckOptions(select=select or ("project",), rules=parse_checks(text).rules)
    return list_violations(root, [], options)


def test_a_pattern_is_looked_for_in_each_line_of_the_files_it_is_for(tmp_path: Path) -> None:
    (tmp_path / "src" / "deep").mkdir(parents=True)
    (tmp_path / "src" / "deep" / "a.py").write_text("def f():\n    print(1)\n")
    (tmp_path / "b.py").write_text("print(1)\n")
    (violation,) = listed(tmp_path, PRINTS).violations
    assert (violation.path, violation.line, violation.column, violation.symbol) == ("src/deep/a.py", 2, 5, "f")
    assert (violation.check_id, violation.message, violation.severity) == ("no-print", "log instead", "error")
    assert listed(tmp_path, PRINTS, "no-print").violations == (violation,)
    assert listed(tmp_path, PRINTS, "F").violations == ()


def test_a_command_names_places_line_by_line_and_only_files_of_the_repository(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    script = "echo a.py:1: wrong; echo ./a.py:1:3: also; echo ../b.py:1: outside; echo other; exit 1"
    report = listed(tmp_path, f"rules: [{{id: own, command: [sh, -c, '{script}']}}]")
    assert [(each.column, each.message) for each in report.violations] == [(1, "wrong"), (3, "also")]
    assert report.notes == ()


@pytest.mark.parametrize("name", [":!a.py", "a:3.py", "a:3: b.py"])
def test_a_command_names_files_with_colons_too(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("x = 1\n")
    script = f'echo "{name}:1: wrong"; echo "{tmp_path}/{name}:1:3: also"'
    report = listed(tmp_path, f"rules: [{{id: own, command: [sh, -c, '{script}']}}]")
    assert [(each.path, each.line, each.message) for each in report.violations] == [
        (name, 1, "wrong"),
        (name, 1, "also"),
    ]


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("[sh, -c, 'echo broken; exit 3']", "status 3; the end of its output: broken"),
        ("[no-such-program]", "status 127"),
        ("[sleep, '60'], timeout_s: 0.2", "it took longer than 0.2 s and was killed"),
    ],
)
def test_a_command_that_fails_is_told_and_is_no_violation(tmp_path: Path, command: str, told: str) -> None:
    (tmp_path / "a.py").write_text("")
    report = listed(tmp_path, f"rules: [{{id: own, command: {command}}}]")
    assert report.violations == ()
    assert told in report.notes[0]


@pytest.mark.parametrize("place", ["no-such.py:1: x", "build/a.py:1: x", "../b.py:1: x", "/etc/passwd:1: x"])
def test_a_command_that_fails_and_names_no_file_that_can_be_told_has_failed(tmp_path: Path, place: str) -> None:
    (tmp_path / "a.py").write_text("")
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "a.py").write_text("")
    report = listed(tmp_path, f"rules: [{{id: own, command: [sh, -c, 'echo {place}; exit 1']}}]")
    assert (report.violations, report.is_whole) == ((), False)
    assert f"the command of rule own failed: status 1; the end of its output: {place}" in report.notes[0]


@pytest.mark.parametrize(
    "told",
    [
        r"\033[1ma.py\033[0m\033[36m:\033[0m1\033[36m:\033[0m\033[31mwrong\033[0m",
        r"\033]8;;file:///a.py\033\\\\a.py:1: wrong\033]8;;\007",
        ".//a.py:1: wrong",
        "$PWD/a.py:1: wrong",
    ],
)
def test_a_place_is_read_as_a_terminal_shows_it(tmp_path: Path, told: str) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "tell").write_text(f'printf "{told}\\n"\nexit 1\n')
    report = listed(tmp_path, "rules: [{id: own, command: [sh, tell]}]")
    assert ([(each.path, each.message) for each in report.violations], report.notes) == ([("a.py", "wrong")], ())


def test_a_command_may_name_files_that_hold_no_code_and_a_comment_there_excuses_it(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("")
    (tmp_path / "c.yaml").write_text("a: 1\nb: 2  # jeeves: allow own - known\n")
    report = listed(tmp_path, "rules: [{id: own, command: [sh, -c, 'echo c.yaml:1: x; echo c.yaml:2: y; exit 1']}]")
    ((path, line, text),) = [(each.path, each.line, each.text) for each in report.violations]
    assert (path, line, text, report.excused, report.notes) == ("c.yaml", 1, "a: 1", 1, ())


def test_a_command_that_names_only_what_the_rule_or_the_caller_leaves_out_has_not_failed(tmp_path: Path) -> None:
    for folder in ("src", "other"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.py").write_text("")
    rule = "id: own, command: [sh, -c, 'echo other/a.py:1: x; exit 1']"
    report = listed(tmp_path, f"rules: [{{{rule}, paths: [src/]}}]")
    assert (report.violations, report.is_whole) == ((), True)
    options = CheckOptions(select=("project",), rules=parse_checks(f"rules: [{{{rule}}}]").rules)
    report = list_violations(tmp_path, ["src"], options)
    assert (report.violations, report.is_whole) == ((), True)


@pytest.mark.parametrize(("more", "is_whole"), [(-1, True), (0, True), (1, False)])
def test_places_beyond_those_that_are_told_make_the_report_not_whole(tmp_path: Path, more: int, is_whole: bool) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    count = MAX_FINDINGS + more
    report = listed(tmp_path, f"rules: [{{id: own, command: [sh, -c, 'yes a.py:1: x | head -{count}']}}]")
    assert (len(report.violations), report.is_whole) == (min(count, MAX_FINDINGS), is_whole)


@pytest.mark.parametrize(("more", "is_whole"), [(-1, True), (0, False), (1, False)])
def test_a_command_that_prints_more_than_is_read_makes_the_report_not_whole(
    tmp_path: Path, more: int, is_whole: bool
) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    blanks = MAX_OUTPUT_BYTES + more - len("a.py:1: wrong\n")
    (tmp_path / "tell").write_text(f"echo a.py:1: wrong\nhead -c {blanks} /dev/zero\n")
    report = listed(tmp_path, "rules: [{id: own, command: [sh, tell]}]")
    assert report.is_whole is is_whole


def test_a_command_that_takes_too_long_is_told_of_although_it_has_named_a_place(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    command = "[sh, -c, 'echo a.py:1: wrong; exec sleep 60'], timeout_s: 0.2"
    report = listed(tmp_path, f"rules: [{{id: own, command: {command}}}]")
    assert [each.message for each in report.violations] == ["wrong"]
    assert "it took longer than 0.2 s and was killed" in report.notes[0]
    assert not report.is_whole


@pytest.mark.parametrize(
    ("end", "is_whole"),
    [("kill -9 $$", False), ("exit 128", True), ("exit 129", False), ("exit 192", False), ("exit 193", True)],
)
def test_a_command_that_a_signal_ended_has_failed_although_it_has_named_a_place(
    tmp_path: Path, end: str, is_whole: bool
) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    report = listed(tmp_path, f'rules: [{{id: own, command: [sh, -c, "echo a.py:1: wrong; {end}"]}}]')
    assert [each.message for each in report.violations] == ["wrong"]
    assert report.is_whole is is_whole


def test_rules_are_inert_until_their_exact_content_was_allowed(tmp_path: Path) -> None:
    root, consent = tmp_path / "root", Consent(tmp_path / "state")
    (root / ".jeeves").mkdir(parents=True)
    assert project_checks(root, consent).notes == ()
    (root / RULES_FILE).write_text(PRINTS)
    assert project_checks(root, consent).notes == (NOT_ALLOWED,)
    consent.allow(root, {each.file: each.sha256 for each in consent.found(root, [RULES_FILE])})
    allowed = project_checks(root, consent)
    assert ([rule.id for rule in allowed.rules], allowed.test_command) == (["no-print"], ("make", "test"))
    (root / RULES_FILE).write_text(PRINTS.replace("make", "rm"))
    assert (project_checks(root, consent).rules, project_checks(root, consent).test_command) == ((), ())


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("rules: [{id: a, pattern: '('}]", "no regular expression"),
        ("rules: [{id: a}]", "give a pattern or a command"),
        ("rules: [{id: a, pattern: x, command: [x]}]", "give a pattern or a command"),
        ("rules: [{id: Bad, pattern: x}]", "a rule is named by lower-case words"),
        ("rules: [{id: a, pattern: x}, {id: a, pattern: y}]", "two rules are named a"),
        ("rules: [{id: long-function, pattern: x}]", "a check that is there without rules"),
        ("rules: [{id: syntax-error, pattern: x}]", "a check that is there without rules"),
        ("rules: [{id: project, pattern: x}]", "a check that is there without rules"),
        ('rules: [{id: a, command: ["x\\0"]}]', "the character U\\+0000"),
        ('test_command: ["x\\0"]', "the character U\\+0000"),
        ("rules: [{id: a, pattern: x, timeout_s: 0}]", "greater than 0"),
        ("other: 1", "other"),
        ("[]", "1 fault"),
    ],
)
def test_a_broken_file_is_refused_with_its_fault(text: str, told: str) -> None:
    with pytest.raises(DocumentFaults, match=told):
        parse_checks(text)


def test_options_with_rules_travel_to_another_process_as_data() -> None:
    options = CheckOptions(rules=parse_checks(PRINTS).rules)
    assert msgspec.convert(msgspec.to_builtins(options), CheckOptions) == options


def test_what_is_allowed_of_a_repository_is_allowed_in_its_linked_work_trees(tmp_path: Path) -> None:
    root, linked, forged = (tmp_path / name for name in ("root", "linked", "forged"))
    write_files(root, {RULES_FILE: PRINTS})
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "-c", f"user.name={WHO.name}", "-c", f"user.email={WHO.email}", "commit", "-qm", "rules")
    git(root, "worktree", "add", "-q", str(linked))
    forged.mkdir()
    (forged / ".git").write_text((linked / ".git").read_text())
    write_files(forged, {RULES_FILE: PRINTS})
    consent = Consent(tmp_path / "state")
    assert project_checks(linked, consent).notes == (NOT_ALLOWED,)
    consent.allow(root, {RULES_FILE: digest_of(PRINTS)})
    assert [rule.id for rule in project_checks(linked, consent).rules] == ["no-print"]
    assert project_checks(forged, consent).notes == (NOT_ALLOWED,)
    (linked / RULES_FILE).write_text(PRINTS.replace("log instead", "log"))
    assert project_checks(linked, consent).notes == (NOT_ALLOWED,)


def test_what_is_allowed_of_a_linked_work_tree_is_not_allowed_of_its_repository(tmp_path: Path) -> None:
    root, linked = tmp_path / "root", tmp_path / "linked"
    write_files(root, {RULES_FILE: PRINTS})
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "-c", f"user.name={WHO.name}", "-c", f"user.email={WHO.email}", "commit", "-qm", "rules")
    git(root, "worktree", "add", "-q", str(linked))
    consent = Consent(tmp_path / "state")
    consent.allow(linked, {RULES_FILE: digest_of(PRINTS)})
    assert project_checks(root, consent).notes == (NOT_ALLOWED,)
    assert project_checks(linked, consent).rules
