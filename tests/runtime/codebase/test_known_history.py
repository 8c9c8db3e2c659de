"""What git printed of a commit is remembered until anything that decides it changes."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.codebase.codebase import Codebase
from runtime.codebase.git import commit_history
from runtime.codebase.git.git_process import Git
from runtime.codebase.git.known_history import HistoryMemory
from runtime.codebase.tools.code_history import explain_code_history
from runtime.codebase.tools.find_related import find_related
from tests.runtime.codebase.test_codebase_history import commit, git

SLOW = '#!/bin/sh\necho "$@" >> {calls}\nexec {git} "$@"\n'


@pytest.fixture
def history(shop: Path, opened: Callable[[Path], Codebase]) -> Codebase:
    git(shop, "init", "-q", "-b", "main")
    commit(shop, "Open the shop")
    orders, payment = shop / "src/shop/orders.py", shop / "src/shop/payment.py"
    orders.write_text(orders.read_text().replace("VAT_RATE = 0.2", "VAT_RATE = 0.19"))
    payment.write_text(payment.read_text().replace("retries = 3", "retries = 4"))
    commit(shop, "Lower the tax")
    return opened(shop)


@pytest.fixture
def counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """Put a program before git that records its commands; return what gives those since the last time."""
    real = subprocess.run(["which", "git"], capture_output=True, text=True, check=True).stdout.strip()
    calls, folder = tmp_path / "calls", tmp_path / "bin"
    folder.mkdir()
    (folder / "git").write_text(SLOW.format(calls=calls, git=real))
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")

    def taken() -> list[str]:
        text = calls.read_text() if calls.exists() else ""
        calls.unlink(missing_ok=True)
        return [line.split()[1] for line in text.splitlines()]

    return taken


def subjects(history: Codebase, path: str = "src/shop/orders.py") -> list[str]:
    return [each.subject for each in commit_history.log(Git(history.root, history.history), path, limit=9)]


def test_history_is_asked_of_git_once(history: Codebase, counted: Callable[[], list[str]]) -> None:
    first = find_related(history, path="src/shop/orders.py")
    assert "log" in counted()
    assert find_related(history, path="src/shop/orders.py").data == first.data
    assert counted() == []


def test_what_changes_together_is_asked_once_for_all_files(history: Codebase, counted: Callable[[], list[str]]) -> None:
    find_related(history, path="src/shop/orders.py")
    counted()
    (row,) = (
        row
        for row in find_related(history, path="src/shop/payment.py").data["related"]
        if row["file"] == "src/shop/orders.py"
    )
    assert row["changes"]["subject"] == "Lower the tax"
    assert counted() == []


@pytest.mark.parametrize("recent", [1, 2, 3])
def test_a_file_that_no_recent_commit_touched_is_looked_for_further_back(history: Codebase, recent: int) -> None:
    (history.root / "src/shop/orders.py").write_text("x = 1\n")
    commit(history.root, "Empty the orders")
    asked = Git(history.root, history.history)
    found = commit_history.co_changed(asked, "src/shop/payment.py", limit=9, recent=recent)
    assert [(each.path, each.newest.subject) for each in found[:1]] == [("src/shop/orders.py", "Lower the tax")]
    assert found[0].commits == (1 if recent == 2 else 2)


def test_a_commit_that_is_added_or_amended_is_seen_at_once(history: Codebase) -> None:
    root = history.root
    assert subjects(history) == ["Lower the tax", "Open the shop"]
    (root / "src/shop/orders.py").write_text("x = 1\n")
    commit(root, "Empty the orders")
    assert subjects(history) == ["Empty the orders", "Lower the tax", "Open the shop"]
    git(root, "commit", "-q", "--amend", "-m", "Clear the orders")
    assert subjects(history)[0] == "Clear the orders"
    git(root, "reset", "-q", "--hard", "HEAD~1")
    assert subjects(history) == ["Lower the tax", "Open the shop"]


def test_another_branch_has_its_own_history(history: Codebase) -> None:
    root = history.root
    assert len(subjects(history)) == 2
    git(root, "checkout", "-q", "-b", "old", "HEAD~1")
    assert subjects(history) == ["Open the shop"]


def test_a_head_that_moves_within_a_call_leaves_nothing_wrong_behind(history: Codebase) -> None:
    root = history.root
    asked = Git(root, history.history)
    assert [each.subject for each in commit_history.log(asked, None, limit=1)] == ["Lower the tax"]
    git(root, "checkout", "-q", "-b", "old", "HEAD~1")
    # This call reads the copy of HEAD that it began with, which names a branch that the other call does not.
    commit_history.log(asked, None, limit=9)
    assert [each.subject for each in commit_history.log(Git(root, history.history), None, limit=9)] == ["Open the shop"]
    git(root, "checkout", "-q", "main")
    assert len(commit_history.log(Git(root, history.history), None, limit=9)) == 2


def test_a_call_goes_on_with_git_where_memory_ends_and_makes_no_folder_before(
    history: Codebase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "places").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "places"))
    assert len(subjects(history)) == 2
    asked = Git(history.root, history.history)
    commit_history.log(asked, "src/shop/orders.py", limit=9)
    assert list((tmp_path / "places").iterdir()) == []
    assert [each.subject for each in commit_history.log(asked, None, limit=1)] == ["Lower the tax"]
    assert len(list((tmp_path / "places").iterdir())) == 1


def test_a_replaced_commit_and_a_changed_mail_map_are_seen(history: Codebase) -> None:
    root = history.root
    before = explain_code_history(history, symbol="Order.total").data["blame"]
    assert before
    assert {row["author"] for row in before} == {"Ada"}
    (root / ".mailmap").write_text("Ada Lovelace <ada@example.com>\n")
    after = explain_code_history(history, symbol="Order.total").data["blame"]
    assert {row["author"] for row in after} == {"Ada Lovelace"}
    tree = git(root, "rev-parse", "HEAD~1^{tree}").strip()
    other = git(root, "commit-tree", tree, "-m", "Open another shop").strip()
    assert subjects(history)[-1] == "Open the shop"
    git(root, "replace", "HEAD~1", other)
    assert subjects(history)[-1] == "Open another shop"


def test_lines_that_are_not_committed_are_told_as_such_and_again_as_committed(history: Codebase) -> None:
    root, path = history.root, "src/shop/orders.py"
    clean = explain_code_history(history, path=path, start_line=1, end_line=1).data["blame"]
    text = (root / path).read_text()
    (root / path).write_text("# new\n" + text)
    edited = explain_code_history(history, path=path, start_line=1, end_line=1).data["blame"]
    assert [set(row["hash"]) for row in edited] == [{"0"}]
    (root / path).write_text(text)
    assert explain_code_history(history, path=path, start_line=1, end_line=1).data["blame"] == clean


def test_two_repositories_with_the_same_commit_are_told_apart(history: Codebase, tmp_path: Path) -> None:
    other, memory = tmp_path / "other", HistoryMemory()
    subprocess.run(["git", "clone", "-q", "--depth=1", f"file://{history.root}", str(other)], check=True)

    def told(root: Path) -> tuple[int, int]:
        asked = Git(root, memory)
        return len(commit_history.log(asked, None, limit=9)), len(commit_history.boundary(asked))

    assert (told(history.root), told(other)) == ((2, 0), (1, 1))
    git(other, "fetch", "-q", "--unshallow")
    assert (told(history.root), told(other)) == ((2, 0), (2, 0))
