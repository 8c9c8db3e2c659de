"""What a branch is compared with, for `jeeves check --new-since`: contents alone, whatever git is told of its files.

The findings are made up, as of a rule with a command: they are old in a file, or on a line, that is as it was.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from actors.capabilities.violation_fix.checks.options import CheckOptions, ProjectRule
from actors.capabilities.violation_fix.checks.violation import CheckReport, Finding, with_ids
from runtime.errors import InputError
from serve.batch.base_comparison import Comparison, compared
from serve.batch.check_listing import listed
from tests.attacks.repositories import commit, git, write

OPTIONS = CheckOptions(select=("own",), rules=(ProjectRule("own", command=("own",)),))
FOUR = "one\ntwo\nthree\nfour\n"
EDITED = "one\nTWO\nthree\nfour\n"


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A file of four lines on `main`, and a branch that is out."""
    made = (tmp_path / "repo").resolve()
    made.mkdir()
    git(made, "init", "-q", "--template=")
    write(made, {"a.js": FOUR, "b.js": FOUR})
    commit(made, "Open")
    git(made, "checkout", "-q", "-b", "branch")
    return made


def on_main(repo: Path, files: Mapping[str, str | bytes]) -> None:
    """More files where the branch begins."""
    git(repo, "checkout", "-q", "main")
    write(repo, files)
    commit(repo, "More")
    git(repo, "checkout", "-q", "-B", "branch")


def judged(repo: Path, *places: tuple[str, int], since: str = "main") -> Comparison:
    """The comparison of findings at lines of files."""
    findings = [Finding(path, line, 1, "own", "told", text=str(line)) for path, line in places]
    return compared(repo, CheckReport(with_ids(findings), 1), OPTIONS, since, timeout_s=60.0)


def new(repo: Path, *places: tuple[str, int], since: str = "main") -> list[tuple[str, int]]:
    return [(each.path, each.line) for each in judged(repo, *places, since=since).new]


@pytest.mark.parametrize("mark", ["--assume-unchanged", "--skip-worktree"])
def test_a_mark_of_the_index_hides_no_edit(repo: Path, mark: str) -> None:
    git(repo, "update-index", mark, "a.js", "b.js")
    write(repo, {"a.js": EDITED})
    assert new(repo, ("a.js", 1), ("a.js", 2), ("b.js", 2)) == [("a.js", 2)]


def test_an_edit_of_the_same_size_and_time_is_seen(repo: Path) -> None:
    place = repo / "a.js"
    os.utime(place, ns=(1_000_000_000, 1_000_000_000))
    git(repo, "config", "core.checkStat", "minimal")
    git(repo, "status")
    write(repo, {"a.js": EDITED})
    os.utime(place, ns=(1_000_000_000, 1_000_000_000))
    assert git(repo, "diff", "--name-only") == ""
    assert new(repo, ("a.js", 2)) == [("a.js", 2)]


def test_a_replaced_blob_is_read_as_it_was(repo: Path) -> None:
    write(repo, {"a.js": EDITED})
    ours = git(repo, "hash-object", "-w", "a.js").strip()
    git(repo, "replace", git(repo, "rev-parse", "main:a.js").strip(), ours)
    assert new(repo, ("a.js", 1), ("a.js", 2)) == [("a.js", 2)]


def with_own_commit(repo: Path) -> tuple[str, str]:
    """The heads of both branches, each with a commit of its own; the one of `branch` has the edit."""
    git(repo, "checkout", "-q", "main")
    write(repo, {"other.js": "1\n"})
    theirs = commit(repo, "Other")
    git(repo, "checkout", "-q", "branch")
    write(repo, {"a.js": EDITED})
    return theirs, commit(repo, "Edit")


def test_a_replaced_commit_moves_no_base(repo: Path) -> None:
    theirs, ours = with_own_commit(repo)
    git(repo, "replace", "--graft", theirs, ours)
    assert new(repo, ("a.js", 2)) == [("a.js", 2)]


def test_a_graft_moves_no_base(repo: Path) -> None:
    theirs, ours = with_own_commit(repo)
    write(repo, {".git/info/grafts": f"{theirs} {ours}\n"})
    assert new(repo, ("a.js", 2)) == [("a.js", 2)]


def test_a_commit_graph_that_lies_moves_no_base(repo: Path) -> None:
    theirs, ours = with_own_commit(repo)
    git(repo, "checkout", "-q", "main")
    write(repo, {"other.js": "2\n"})
    commit(repo, "Another")
    git(repo, "checkout", "-q", "branch")
    git(repo, "commit-graph", "write", "--reachable")
    place = repo / ".git/objects/info/commit-graph"
    graph = bytearray(place.read_bytes())
    heads = (graph[8 + 12 * number : 20 + 12 * number] for number in range(graph[6]))
    chunks = {bytes(head[:4]): int.from_bytes(head[4:], "big") for head in heads}
    order = sorted(git(repo, "rev-list", "--all").split())
    parent = chunks[b"CDAT"] + 36 * order.index(theirs) + 20
    graph[parent : parent + 4] = order.index(ours).to_bytes(4, "big")
    place.chmod(0o644)
    place.write_bytes(graph)
    assert git(repo, "merge-base", "main", "branch").strip() == ours
    assert new(repo, ("a.js", 2)) == [("a.js", 2)]


def test_a_shallow_boundary_hides_no_newer_base(repo: Path) -> None:
    """A side branch leads to an older commit, whose violation `main` has mended since."""
    on_main(repo, {"a.js": "one\nmended\nthree\nfour\n"})
    git(repo, "commit", "-q", "--allow-empty", "-m", "Ours")
    ours = git(repo, "rev-parse", "HEAD").strip()
    git(repo, "checkout", "-q", "-b", "side", "main~1")
    git(repo, "commit", "-q", "--allow-empty", "-m", "Side")
    git(repo, "checkout", "-q", "branch")
    git(repo, "merge", "-q", "--strategy", "ours", "side", "-m", "Merge")
    write(repo, {"a.js": FOUR})
    assert new(repo, ("a.js", 2)) == [("a.js", 2)]
    (repo / ".git" / "shallow").write_text(f"{ours}\n")
    with pytest.raises(InputError, match=f"ends at {ours[:12]}, as in a shallow clone"):
        new(repo, ("a.js", 2))


def test_a_shallow_clone_that_ends_behind_what_both_have_is_compared(repo: Path) -> None:
    on_main(repo, {"a.js": EDITED})
    git(repo, "commit", "-q", "--allow-empty", "-m", "Ours")
    base = git(repo, "rev-parse", "main").strip()
    (repo / ".git" / "shallow").write_text(f"{base}\n")
    assert git(repo, "rev-list", "--count", "HEAD").strip() == "2"
    write(repo, {"a.js": "one\nTWO\nthree\n4\n"})
    assert new(repo, ("a.js", 2), ("a.js", 4)) == [("a.js", 4)]


def test_unrelated_history_that_a_shallow_clone_has_whole_is_no_cut(repo: Path) -> None:
    base = git(repo, "rev-parse", "main").strip()
    git(repo, "checkout", "-q", "--orphan", "other")
    git(repo, "commit", "-q", "-m", "Other")
    git(repo, "checkout", "-q", "branch")
    git(repo, "merge", "-q", "--strategy", "ours", "--allow-unrelated-histories", "other", "-m", "Merge")
    (repo / ".git" / "shallow").write_text(f"{base}\n")
    write(repo, {"a.js": EDITED})
    assert new(repo, ("a.js", 1), ("a.js", 2)) == [("a.js", 2)]


def test_a_file_taken_out_of_the_index_alone_is_no_source_of_a_copy(repo: Path) -> None:
    git(repo, "rm", "-q", "--cached", "a.js")
    write(repo, {"copy.js": FOUR})
    git(repo, "add", "copy.js")
    assert new(repo, ("a.js", 2), ("copy.js", 2)) == [("copy.js", 2)]
    (repo / "a.js").unlink()
    assert new(repo, ("copy.js", 2)) == []


def test_a_file_that_is_gone_is_one_other_at_most(repo: Path) -> None:
    git(repo, "rm", "-q", "a.js")
    write(repo, {"c.js": f"{FOUR}5\n", "d.js": f"{FOUR}6\n"})
    git(repo, "add", "c.js", "d.js")
    assert len(new(repo, ("c.js", 2), ("d.js", 2))) == 1


@pytest.mark.parametrize("name", [":!a.js", ":(top)b.js", ":/a.js", "*.js", ":(exclude)a.js", "-a.js"])
def test_a_name_is_no_pattern(repo: Path, name: str) -> None:
    on_main(repo, {name: FOUR, f"sub/{name}": FOUR})
    assert new(repo, (name, 2), ("a.js", 2)) == []
    assert new(repo / "sub", (name, 2)) == []
    write(repo, {name: EDITED, f"sub/{name}": EDITED})
    assert new(repo, (name, 1), (name, 2), ("a.js", 2)) == [(name, 2)]
    assert new(repo / "sub", (name, 1), (name, 2)) == [(name, 2)]


def test_line_ends_of_a_checkout_are_no_change_and_other_ones_are(repo: Path) -> None:
    on_main(repo, {".gitattributes": "a.js eol=crlf\n"})
    dos = FOUR.replace("\n", "\r\n")
    write(repo, {"a.js": dos, "b.js": dos})
    assert new(repo, ("a.js", 2), ("b.js", 2)) == [("b.js", 2)]
    write(repo, {"a.js": dos.replace("two", "TWO")})
    assert new(repo, ("a.js", 1), ("a.js", 2)) == [("a.js", 2)]


def test_lines_that_some_programs_number_otherwise_count_as_changed(repo: Path) -> None:
    write(repo, {"a.js": "o\rne\ntwo\nthree\nfour\n"})
    assert new(repo, ("a.js", 3)) == [("a.js", 3)]


@pytest.mark.parametrize(("text", "last"), [(EDITED, 4), (EDITED + "five", 5)])
def test_a_number_that_no_line_of_a_changed_file_has_is_new(repo: Path, text: str, last: int) -> None:
    write(repo, {"a.js": text})
    assert new(repo, ("a.js", 0), ("a.js", 1), ("a.js", 4), ("a.js", last + 1)) == [("a.js", 0), ("a.js", last + 1)]


def test_a_number_that_no_line_has_is_old_in_a_file_that_is_as_it_was(repo: Path) -> None:
    assert new(repo, ("a.js", 0), ("a.js", 99)) == []


def test_what_the_named_branch_has_by_now_is_old(repo: Path) -> None:
    git(repo, "checkout", "-q", "main")
    write(repo, {"a.js": EDITED})
    commit(repo, "Edit")
    git(repo, "checkout", "-q", "branch")
    write(repo, {"a.js": EDITED, "b.js": EDITED})
    told = judged(repo, ("a.js", 2), ("b.js", 2))
    assert [(each.path, each.line) for each in told.new] == [("b.js", 2)]
    assert told.commits == tuple(git(repo, "rev-parse", "main~1", "main").split())


def test_what_any_of_several_common_commits_has_is_old(repo: Path) -> None:
    write(repo, {"a.js": EDITED})
    ours = commit(repo, "Edit a")
    git(repo, "checkout", "-q", "main")
    write(repo, {"b.js": EDITED})
    theirs = commit(repo, "Edit b")
    git(repo, "merge", "-q", "--no-edit", "-s", "ours", ours)
    git(repo, "checkout", "-q", "branch")
    git(repo, "merge", "-q", "--no-edit", theirs)
    write(repo, {"a.js": EDITED.replace("four", "FOUR")})
    told = judged(repo, ("a.js", 2), ("a.js", 4), ("b.js", 2))
    assert set(told.commits[:2]) == {ours, theirs}
    assert [(each.path, each.line) for each in told.new] == [("a.js", 4)]


def test_one_violation_answers_for_one_although_two_commits_have_it(repo: Path) -> None:
    on_main(repo, {"a.py": "def f():\n    bad()\n"})
    git(repo, "checkout", "-q", "main")
    write(repo, {"a.py": "X = 1\n\n\ndef f():\n    bad()\n"})
    commit(repo, "Move")
    git(repo, "checkout", "-q", "branch")
    write(repo, {"a.py": "def f():\n    bad()\n    bad()\n"})
    options = CheckOptions(select=("no-bad",), rules=(ProjectRule("no-bad", pattern="bad"),))
    told = compared(repo, listed(repo, [], options), options, "main", timeout_s=60.0)
    assert (len(told.commits), len(told.old), [each.line for each in told.new]) == (2, 1, [3])


@pytest.mark.parametrize(
    "revision", ["", "^main", "^HEAD", "main..branch", "main...branch", "main^@", "--all", "main^!"]
)
def test_what_names_no_single_commit_is_refused(repo: Path, revision: str) -> None:
    with pytest.raises(InputError, match="names no commit of the repository"):
        judged(repo, ("a.js", 1), since=revision)


@pytest.fixture
def outer(repo: Path, tmp_path: Path) -> Path:
    """The repository with a submodule `lib` that has two files of four lines."""
    source = tmp_path / "source"
    write(source, {"x.js": FOUR, "y.js": FOUR})
    git(source, "init", "-q", "--template=")
    commit(source, "Open")
    git(repo, "checkout", "-q", "main")
    git(repo, "submodule", "--quiet", "add", str(source), "lib")
    commit(repo, "Add lib")
    git(repo, "checkout", "-q", "-B", "branch")
    return repo


def test_a_file_of_a_submodule_is_compared_with_the_commit_that_was_recorded(outer: Path) -> None:
    assert new(outer, ("lib/x.js", 2), ("a.js", 1)) == []
    write(outer, {"lib/x.js": EDITED, "lib/z.js": FOUR})
    commit(outer / "lib", "Edit")
    commit(outer, "Take the edit")
    assert new(outer, ("lib/x.js", 1), ("lib/x.js", 2), ("lib/y.js", 2), ("lib/z.js", 1)) == [
        ("lib/x.js", 2),
        ("lib/z.js", 1),
    ]


def test_a_mark_in_the_index_of_a_submodule_hides_no_edit(outer: Path) -> None:
    git(outer / "lib", "update-index", "--assume-unchanged", "x.js")
    write(outer, {"lib/x.js": EDITED})
    assert new(outer, ("lib/x.js", 2)) == [("lib/x.js", 2)]


def test_a_submodule_without_its_history_is_told_and_its_files_are_new(outer: Path) -> None:
    git(outer / "lib", "checkout", "-q", "--orphan", "alone")
    commit(outer / "lib", "Alone")
    git(outer / "lib", "update-ref", "-d", "refs/heads/main")
    git(outer / "lib", "update-ref", "-d", "refs/remotes/origin/main")
    git(outer / "lib", "symbolic-ref", "--delete", "refs/remotes/origin/HEAD")
    git(outer / "lib", "reflog", "expire", "--expire=all", "--all")
    git(outer / "lib", "gc", "-q", "--prune=now")
    told = judged(outer, ("lib/x.js", 2))
    assert len(told.new) == 1
    assert "lib/x.js: the submodule lib was at " in told.notes[0]


def test_the_files_of_a_submodule_that_is_none_any_more_are_told_and_new(outer: Path) -> None:
    (outer / "lib/.git").unlink()
    told = judged(outer, ("lib/x.js", 2))
    assert len(told.new) == 1
    assert "lib/x.js: lib was a submodule, and is no repository now" in told.notes[0]
