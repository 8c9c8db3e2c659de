"""Commits that added a thing of the same sort, and their lines that still stand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.codebase.citation import ToolResult
from runtime.codebase.codebase import Codebase
from runtime.codebase.files.words import index_terms
from runtime.codebase.git.commit_history import Commit
from runtime.codebase.git.git_process import Git
from runtime.codebase.git.precedents import (
    MAX_FILES,
    MAX_LINE_CHARS,
    MIN_FILES,
    FilesOfCommit,
    lines_added,
    ranked_precedents,
    read_commits,
    standing_lines,
    thing_of,
)
from runtime.codebase.tools.find_precedents import MAX_LINES_OF_FILE, find_precedents
from tests.runtime.codebase.cited import ranges_of, verify
from tests.runtime.codebase.test_codebase_history import commit, git

FILES = frozenset({"main.py", "commands/sort.py", "commands/count.py", "README.md"})


def of(
    subject: str, added: tuple[str, ...] = ("commands/sort.py",), changed: tuple[str, ...] = ("main.py",)
) -> FilesOfCommit:
    return FilesOfCommit(Commit("a" * 40, "Ada", "2024-01-01T00:00:00Z", subject), added, changed)


def subjects(commits: list[FilesOfCommit], *terms: str) -> list[str]:
    return [one.commit.subject for _, one in ranked_precedents(commits, terms, FILES)]


@pytest.mark.parametrize(
    ("subject", "is_one"),
    [
        ("Add sort command", True),
        ("cli: add the sort command (#12)", True),
        ("feat(cli): sort command", True),
        ("[cli] Implements a sort command.", True),
        ("New command: sort", True),
        ("Fix the sort command", False),
        ("Add a test for the sort command", False),
        ("Add dates to every command", False),
        ("Add sort, and fix the command", False),
        ("command: add a flag", False),
        ("Add command completion", False),
        ("Allow commands to sort", False),
        ("Added", False),
        ("feather: sort command", False),
    ],
)
def test_a_commit_counts_that_says_that_it_added_such_a_thing(subject: str, is_one: bool) -> None:
    assert subjects([of(subject, added=("lists/x.py",))], "command") == ([subject] if is_one else [])


def test_a_new_file_in_a_folder_of_such_things_counts_as_their_name_does() -> None:
    assert subjects([of("Add sort")], "command") == ["Add sort"]
    assert subjects([of("Add sort", added=("lists/sort.py",))], "command") == []


@pytest.mark.parametrize(
    ("files", "counts"), [(MIN_FILES - 1, False), (MIN_FILES, True), (MAX_FILES, True), (MAX_FILES + 1, False)]
)
def test_a_commit_of_one_file_and_one_of_very_many_show_nothing(files: int, counts: bool) -> None:
    one = of("Add sort command", added=(), changed=("main.py", *(f"{number}.py" for number in range(files - 1))))
    assert bool(subjects([one], "command")) is counts


def test_what_is_named_alone_and_has_new_files_goes_first_and_of_equals_the_newest() -> None:
    first, second = of("Add sort command"), of("Add count command")
    plain = of("Add count command", added=(), changed=("main.py", "README.md"))
    assert subjects([plain, first, second], "command") == ["Add sort command", "Add count command", "Add count command"]
    longer = of("Add hidden command to all")
    assert subjects([first, longer], "hidden", "command") == ["Add hidden command to all", "Add sort command"]


@pytest.mark.parametrize(
    ("subject", "added", "is_one"),
    [
        ("Add cursor styling", (), False),
        ("Add border styling", (), True),
        ("Add rclone backend", ("backend/rclone.go",), True),
        ("Add rclone", ("backend/rclone.go",), False),
        ("Add rclone backend", ("backend/rclone.txt",), False),
    ],
)
def test_of_a_thing_of_two_words_one_is_enough_only_where_a_new_file_is_called_after_it(
    subject: str, added: tuple[str, ...], is_one: bool
) -> None:
    one = of(subject, added=added, changed=("main.py", "README.md"))
    thing = ["border", "style"] if "styl" in subject else ["storage", "backend"]
    ranked = ranked_precedents([one], [index_terms(word).split()[-1] for word in thing], {*FILES, *added})
    assert bool(ranked) is is_one


def test_of_a_thing_of_two_words_both_count_wherever_they_stand() -> None:
    said = ["Add list backend cache", "Add backend cache"]
    commits = [of(subject, added=(), changed=("main.py", "README.md")) for subject in said]
    assert subjects(commits, "list", "backend") == said[:1]


def test_files_that_are_gone_are_not_told() -> None:
    ((_, one),) = ranked_precedents([of("Add sort command", changed=("main.py", "gone.py"))], ["command"], FILES)
    assert one.changed == ("main.py",)
    assert ranked_precedents([of("Add sort command", changed=("gone.py",))], ["command"], FILES) == []


def test_without_words_there_is_none() -> None:
    assert ranked_precedents([of("Add sort command")], [], FILES) == []


@pytest.mark.parametrize(
    ("subject", "thing"),
    [
        ("Add flag for local files", "Add flag"),
        ("backend: add `rclone` backend (#3)", "add `rclone` backend"),
        ("Add date to converters", "Add date"),
        ("Add Aurora as a dialect", "Add Aurora as a dialect"),
        ("", ""),
    ],
)
def test_a_subject_tells_what_was_added_and_to_what(subject: str, thing: str) -> None:
    assert thing_of(subject) == thing


@given(st.lists(st.text(max_size=80), max_size=6), st.lists(st.text(min_size=1, max_size=12), max_size=3))
def test_any_subjects_are_ranked(said: list[str], terms: list[str]) -> None:
    commits = [of(subject) for subject in said]
    ranked = ranked_precedents(commits, terms, FILES)
    assert [score for score, _ in ranked] == sorted((score for score, _ in ranked), reverse=True)
    assert all(one in commits for _, one in ranked)


def test_a_subject_of_a_megabyte_is_read_in_no_time() -> None:
    for subject in ("add " + "a (" * 300_000, "x: " * 300_000, "[!] " * 300_000, "[" * 600_000, "a, " * 300_000):
        assert subjects([of(subject, added=())], "command") == []


@given(
    st.lists(st.sampled_from(["a = 1", "b = 2", "", "c"]), max_size=12),
    st.lists(st.sampled_from(["a = 1", "c"]), max_size=3),
)
def test_a_line_that_occurs_more_than_once_does_not_stand(lines: list[str], added: list[str]) -> None:
    for number in standing_lines(lines, added):
        assert lines[number - 1] in added
        assert lines.count(lines[number - 1]) == 1


MAIN = 'COMMANDS = {\n    "count": count,\n}\n'
SORT = 'COMMANDS = {\n    "count": count,\n    "sort": sort,\n}\n'


@pytest.fixture
def tool(tmp_path: Path, opened: Callable[[Path], Codebase]) -> Codebase:
    """A program with a command that was added in one commit, and a line of that which is gone."""
    root = tmp_path / "tool"
    (root / "commands").mkdir(parents=True)
    git(root, "init", "-q", "-b", "main")
    (root / "main.py").write_text(MAIN)
    (root / "commands/count.py").write_text("def count(rows):\n    return len(rows)\n")
    (root / ".env").write_text("KEY=1\n")
    commit(root, "Begin")
    (root / "main.py").write_text(SORT + f"OLD = 1\nLONG_SORT = '{'x' * MAX_LINE_CHARS}'\n")
    (root / "commands/sort.py").write_text("import sys\n\n\ndef sort(rows):\n    return sorted(rows)\n")
    (root / ".env").write_text("KEY=2\n")
    (root / "README.md").write_text("# Tool\n\n- sort: sorts rows\n")
    commit(root, "Add sort command")
    (root / "main.py").write_text(SORT)
    commit(root, "Tidy")
    return opened(root)


def test_the_files_of_a_commit_are_told_with_their_lines_that_still_stand(tool: Codebase) -> None:
    result = find_precedents(tool, "a new command that counts columns")
    assert result.status == "ok"
    assert [attempt.strategy for attempt in result.attempts] == ["log"]
    assert result.tokens > 0
    (row,) = result.data["commits"]
    assert (row["subject"], row["author"]) == ("Add sort command", "Ada")
    new, changed, document = row["files"]
    assert (new["file"], new["is_new"], new["lines"]) == ("commands/sort.py", True, [])
    assert result.citations[new["citation"]].mark == "[commands/sort.py:4-5]"
    assert [(line["line"], line["text"]) for line in changed["lines"]] == [(3, '"sort": sort,')]
    assert (document["file"], document["is_new"]) == ("README.md", True)
    assert {citation.file for citation in result.citations} == {each["file"] for each in row["files"]}
    assert verify(tool, result.citations, ranges_of([result])) == (list(result.citations), {})


def test_secrets_and_lines_that_are_gone_are_not_told(tool: Codebase) -> None:
    one = next(one for one in read_commits(Git(tool.root)) if one.commit.subject == "Add sort command")
    assert one.added == ("README.md", "commands/sort.py")
    assert one.changed == ("main.py",)
    assert lines_added(Git(tool.root), one.commit.hash, ["main.py"]) == {"main.py": ['"sort": sort,', "OLD = 1"]}
    assert "OLD" not in str(find_precedents(tool, "command").data)


@pytest.mark.parametrize("query", ["subcommand", "commands", "one more command", "command line command"])
def test_a_thing_is_found_in_other_forms_of_its_name(tool: Codebase, query: str) -> None:
    assert [row["subject"] for row in find_precedents(tool, query).data["commits"]] == ["Add sort command"]


@pytest.mark.parametrize("query", ["backend", "???", "the", "x" * 500])
def test_without_such_a_commit_the_result_is_empty(tool: Codebase, query: str) -> None:
    result = find_precedents(tool, query)
    assert (result.status, result.data["commits"], result.citations) == ("empty", [], ())


def test_without_git_it_says_so(shop: Path, opened: Callable[[Path], Codebase]) -> None:
    result: ToolResult = find_precedents(opened(shop), "command")
    assert result.status == "unsupported"
    assert "no git repository" in (result.error or "")


@pytest.mark.parametrize(
    ("count", "told"), [(MAX_LINES_OF_FILE, MAX_LINES_OF_FILE), (MAX_LINES_OF_FILE + 1, MAX_LINES_OF_FILE)]
)
def test_of_a_file_so_many_lines_are_told_those_first_that_name_what_was_added(
    tmp_path: Path, opened: Callable[[Path], Codebase], count: int, told: int
) -> None:
    root = tmp_path / "many"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    (root / "main.py").write_text("A = 0\n")
    (root / "other.py").write_text("B = 0\n")
    commit(root, "Begin")
    lines = [f"# The widget {number} is one." for number in range(count - 1)]
    (root / "main.py").write_text("\n".join(["A = 0", "OTHER = 1", *lines, "WIDGET = 1"]) + "\n")
    (root / "other.py").write_text("B = 1\n")
    commit(root, "Add widget command")
    (row,) = find_precedents(opened(root), "command").data["commits"]
    texts = [line["text"] for line in row["files"][0]["lines"]]
    assert len(texts) == told
    assert texts[-1] == "WIDGET = 1"
