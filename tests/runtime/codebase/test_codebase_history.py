from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.codebase.citation import ToolResult
from runtime.codebase.codebase import Codebase
from runtime.codebase.git import commit_history
from runtime.codebase.git.git_process import Git
from runtime.codebase.tools.code_history import explain_code_history
from runtime.codebase.tools.find_related import find_related
from runtime.codebase.tools.git_status import git_status
from runtime.codebase.tools.trace_entry import trace_entry_point
from runtime.errors import RepositoryError
from tests.runtime.codebase.cited import ranges_of, verify

IDENTITY = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "commit.gpgsign=false")


def git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *IDENTITY, *arguments], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout


def commit(root: Path, message: str) -> None:
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", message)


@pytest.fixture
def history(shop: Path, opened: Callable[[Path], Codebase]) -> Codebase:
    """The shop with three commits; orders and payment changed together twice."""
    git(shop, "init", "-q", "-b", "main")
    commit(shop, "Open the shop")
    orders, payment = shop / "src/shop/orders.py", shop / "src/shop/payment.py"
    orders.write_text(orders.read_text().replace("VAT_RATE = 0.2", "VAT_RATE = 0.19"))
    payment.write_text(payment.read_text().replace("retries = 3", "retries = 4"))
    commit(shop, "Lower the tax")
    return opened(shop)


def tried(result: ToolResult) -> list[tuple[str, str]]:
    return [(attempt.strategy, attempt.status) for attempt in result.attempts]


def test_the_history_of_a_symbol_has_its_commits_authors_and_lines(history: Codebase) -> None:
    result = explain_code_history(history, symbol="PaymentGateway.charge")
    assert result.status == "ok"
    assert [item["subject"] for item in result.data["commits"]] == ["Open the shop"]
    assert result.data["authors"] == {"Ada": 3}
    assert tried(result) == [("symbol_index", "ok"), ("log_of_lines", "ok"), ("blame", "ok"), ("diff", "ok")]
    assert verify(history, result.citations, ranges_of([result])) == (list(result.citations), {})


FORGED = "deadbeef" * 5


@pytest.mark.parametrize(
    "text", [f"Tidy\x1e{FORGED}\x1fLinus\x1f2020-01-01\x1fApproved", "Tidy\x1b[2J\x07", "\x1f\x1f\x1f"]
)
def test_a_message_or_name_can_neither_pose_as_a_commit_nor_hide_one(history: Codebase, text: str) -> None:
    (history.root / "new.py").write_text("x = 1\n")
    git(history.root, "add", "-A")
    git(history.root, "-c", f"user.name=Eve {text} Eve", "commit", "-q", "-m", text)
    newest, *older = commit_history.log(Git(history.root), None, limit=5)
    assert (newest.subject, newest.author, len(newest.hash)) == (text, f"Eve {text} Eve", 40)
    assert [each.subject for each in older] == ["Lower the tax", "Open the shop"]
    (found,) = explain_code_history(history, path="new.py").data["commits"]
    assert (found["hash"], found["subject"]) == (newest.hash, text)


def test_the_history_of_a_file_lists_newest_first_and_lines_narrow_it(history: Codebase) -> None:
    whole = explain_code_history(history, path="src/shop/orders.py")
    assert [item["subject"] for item in whole.data["commits"]] == ["Lower the tax", "Open the shop"]
    assert whole.citations
    line = history.read_lines("src/shop/orders.py").index("VAT_RATE = 0.19") + 1
    one = explain_code_history(history, path="src/shop/orders.py", start_line=line, end_line=line)
    assert [row["subject"] for row in one.data["blame"]] == ["Lower the tax"]
    assert [(item.start_line, item.end_line) for item in one.citations] == [(line, line)]


@pytest.mark.parametrize(("limit", "status", "count"), [(1, "partial", 1), (2, "ok", 2), (3, "ok", 2)])
def test_commits_are_bounded_and_the_result_says_so(history: Codebase, limit: int, status: str, count: int) -> None:
    result = explain_code_history(history, path="src/shop/orders.py", max_commits=limit)
    assert (result.status, len(result.data["commits"]), result.truncated) == (status, count, status == "partial")


def test_uncommitted_changes_are_shown_but_never_those_of_secrets(history: Codebase) -> None:
    root = history.root
    (root / ".env").write_text("TOKEN=first\n")
    git(root, "add", "-f", ".env")
    commit(root, "Oops")
    (root / ".env").write_text("TOKEN=hunter2\n")
    orders = root / "src/shop/orders.py"
    orders.write_text(orders.read_text().replace("0.19", "0.25"))
    result = explain_code_history(history, path=".")
    assert "+VAT_RATE = 0.25" in result.data["diff"]
    assert "hunter2" not in str(result)
    assert git_status(history).data["changes"] == [{"path": "src/shop/orders.py", "state": "modified"}]
    assert explain_code_history(history, path=".env").status == "denied"


def test_the_state_of_the_work_tree_tells_branch_head_and_changes(history: Codebase) -> None:
    clean = git_status(history)
    assert (clean.data["branch"], clean.data["clean"], clean.data["changes"]) == ("main", True, [])
    assert clean.data["head"] == git(history.root, "rev-parse", "HEAD").strip()
    (history.root / "new.py").write_text("x = 1\n")
    (history.root / "README.md").unlink()
    git(history.root, "mv", "src/shop/cli.py", "src/shop/door.py")
    states = {row["path"]: row["state"] for row in git_status(history).data["changes"]}
    assert states == {"README.md": "deleted", "new.py": "untracked", "src/shop/door.py": "renamed"}


def test_a_root_below_the_top_of_the_work_tree_sees_its_own_paths(history: Codebase, tmp_path: Path) -> None:
    from runtime.codebase.index.writer import refresh

    root = history.root / "src"
    refresh(root, tmp_path / "below.sqlite")
    (root / "shop/cli.py").write_text("x = 1\n")
    (history.root / "README.md").write_text("changed\n")
    below = Codebase.open(root, tmp_path / "below.sqlite")
    assert git_status(below).data["changes"] == [{"path": "shop/cli.py", "state": "modified"}]
    assert [row["file"] for row in find_related(below, path="shop/orders.py").data["related"]]
    assert explain_code_history(below, symbol="Order.total").data["blame"]
    below.close()


def test_a_folder_without_git_or_commits_has_no_history(codebase: Codebase) -> None:
    assert explain_code_history(codebase, path="README.md").status == "unsupported"
    assert git_status(codebase).status == "unsupported"
    git(codebase.root, "init", "-q")
    assert explain_code_history(codebase, path="README.md").status == "unsupported"


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ({}, "error"),
        ({"path": "../outside"}, "denied"),
        ({"path": "no/such.py"}, "not_found"),
        ({"symbol": "zzqxw"}, "not_found"),
        ({"path": "README.md", "start_line": 900}, "not_found"),
        ({"path": "--output=stolen"}, "not_found"),
    ],
)
def test_a_place_that_is_not_there_is_told_apart(history: Codebase, arguments: dict[str, str], status: str) -> None:
    result = explain_code_history(history, **arguments)  # type: ignore[arg-type]
    assert (result.status, bool(result.error)) == (status, True)
    assert not (history.root / "stolen").exists()


def test_nothing_that_a_repository_configures_is_run(history: Codebase, tmp_path: Path) -> None:
    root, mark = history.root, tmp_path / "ran"
    trap = tmp_path / "trap.sh"
    trap.write_text(f'#!/bin/sh\necho "$0" >> {mark}\ncat\n')
    trap.chmod(0o755)
    for key in ("core.fsmonitor", "filter.evil.clean", "filter.evil.process", "filter.evil.smudge", "diff.external"):
        git(root, "config", key, str(trap))
    for key in ("diff.evil.textconv", "diff.evil.command", "core.pager", "core.sshCommand", "gpg.program"):
        git(root, "config", key, str(trap))
    git(root, "config", "log.showSignature", "true")
    (root / ".gitattributes").write_text("* filter=evil diff=evil\n")
    hook = root / ".git/hooks/post-index-change"
    hook.write_text(trap.read_text())
    hook.chmod(0o755)
    (root / "README.md").write_text("changed\n")
    for result in (
        git_status(history),
        explain_code_history(history, path="README.md", start_line=1, end_line=1),
        explain_code_history(history, path="src/shop/orders.py"),
        find_related(history, path="src/shop/orders.py"),
    ):
        assert result.usable, result
    assert not mark.exists()
    subprocess.run(["git", "status"], cwd=root, capture_output=True, check=False)
    assert mark.exists()


def test_a_command_that_hangs_is_killed(shop: Path, tmp_path: Path) -> None:
    git(shop, "init", "-q")
    slow = tmp_path / "git"
    slow.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\nexec sleep 60\n")
    slow.chmod(0o755)
    with pytest.raises(RepositoryError, match=r"longer than 0\.2 s"):
        Git(shop, program=str(slow), timeout_s=0.2).run("log")
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}").exists()


def test_without_the_program_git_the_error_says_so(shop: Path) -> None:
    with pytest.raises(RepositoryError, match="install"):
        Git(shop, program="no-such-git").run("log")


def test_related_files_tell_why_they_are_and_come_by_the_number_of_reasons(history: Codebase) -> None:
    result = find_related(history, path="src/shop/orders.py")
    reasons = {row["file"]: row["reasons"] for row in result.data["related"]}
    assert result.status == "ok"
    assert "changes_with" in reasons["src/shop/payment.py"]
    assert "tests" in reasons["tests/test_orders.py"]
    assert "imported_by" in reasons["src/shop/cli.py"]
    assert "src/shop/orders.py" not in reasons
    assert verify(history, result.citations, ranges_of([result])) == (list(result.citations), {})
    scores = [row["score"] for row in result.data["related"]]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("limit", [1, 2])
def test_related_files_are_bounded(history: Codebase, limit: int) -> None:
    result = find_related(history, path="src/shop/orders.py", max_results=limit)
    assert (len(result.data["related"]), result.truncated) == (limit, True)


def test_related_files_need_no_git_and_tell_what_was_not_looked_at(codebase: Codebase) -> None:
    result = find_related(codebase, symbol="pay_order")
    assert ("changes_with", "unsupported") in tried(result)
    assert "calls_it" in {reason for row in result.data["related"] for reason in row["reasons"]}
    assert find_related(codebase, path="../x").status == "denied"
    assert find_related(codebase, symbol="zzqxw").status == "not_found"


def test_an_entry_point_is_followed_along_its_calls(codebase: Codebase) -> None:
    result = trace_entry_point(codebase, "main", max_depth=2)
    steps = [(row["depth"], row["symbol"], row["called_by"]) for row in result.data["steps"]]
    assert steps[0] == (0, "main", None)
    assert (1, "pay_order", "main") in steps
    assert (2, "Order.total", "pay_order") in steps
    assert verify(codebase, result.citations, ranges_of([result])) == (list(result.citations), {})
    assert trace_entry_point(codebase, "main", max_depth=2).data == result.data


@pytest.mark.parametrize(("depth", "deepest", "status"), [(1, 1, "partial"), (2, 2, "ok"), (9, 2, "ok")])
def test_depth_is_bounded_and_the_result_says_so(codebase: Codebase, depth: int, deepest: int, status: str) -> None:
    result = trace_entry_point(codebase, "main", max_depth=depth)
    assert (max(row["depth"] for row in result.data["steps"]), result.status) == (deepest, status)


@pytest.mark.parametrize("outside", [24, 25, 26, 120])
def test_a_proven_call_is_followed_however_many_others_stand_before_it(
    root: Path, opened: Callable[[Path], Codebase], outside: int
) -> None:
    calls = "".join(f"    outer{number}()\n" for number in range(outside))
    (root / "long.py").write_text(f"def enter():\n{calls}    last()\n\n\ndef last():\n    return 1\n")
    result = trace_entry_point(opened(root), "enter")
    assert [row["symbol"] for row in result.data["steps"]] == ["enter", "last"]
    assert len({*result.data["outside"], *result.data["unproven"]}) == outside
    assert result.status == "ok"


@pytest.mark.parametrize(("outside", "status"), [(199, "ok"), (200, "ok"), (201, "partial")])
def test_a_cut_list_of_names_is_told(root: Path, opened: Callable[[Path], Codebase], outside: int, status: str) -> None:
    calls = "".join(f"    outer{number}()\n" for number in range(outside))
    (root / "long.py").write_text(f"def enter():\n{calls}")
    result = trace_entry_point(opened(root), "enter")
    assert (result.status, result.truncated) == (status, status == "partial")


@pytest.mark.parametrize(("count", "status"), [(24, "ok"), (25, "ok"), (26, "partial")])
def test_a_file_of_more_definitions_than_are_entered_is_told(
    root: Path, opened: Callable[[Path], Codebase], count: int, status: str
) -> None:
    (root / "many.py").write_text("".join(f"def one{number}():\n    return {number}\n" for number in range(count)))
    assert trace_entry_point(opened(root), "many.py").status == status


def test_without_a_name_the_entry_points_of_the_repository_are_listed(
    root: Path, opened: Callable[[Path], Codebase]
) -> None:
    (root / "web.py").write_text(
        "@app.route('/x')\ndef show():\n    return 1\n\n\n@cli.command()\ndef run():\n    show()\n"
    )
    (root / "tests").mkdir()
    (root / "tests/test_main.py").write_text("def main():\n    pass\n")
    result = trace_entry_point(opened(root))
    rows = [(row["kind"], row["symbol"]) for row in result.data["entry_points"]]
    assert rows == [("command", "run"), ("route", "show"), ("main", "main")]
    assert [row["symbol"] for row in result.data["steps"]] == ["run", "show"]


def test_a_file_is_entered_by_its_main_and_nothing_else_is_made_up(codebase: Codebase) -> None:
    assert trace_entry_point(codebase, "src/shop/cli.py").data["entry"]["symbol"] == "main"
    assert trace_entry_point(codebase, "zzqxw").status == "not_found"
    assert trace_entry_point(codebase, "../../etc/passwd").status == "denied"


def test_a_head_that_names_nothing_is_told_as_what_it_is(history: Codebase) -> None:
    (history.root / ".git" / "HEAD").write_text("garbage\n")
    told = git_status(history)
    assert told.status == "unsupported"
    assert "the file HEAD in `.git` names neither a branch nor a commit" in str(told.error)
