"""Every call of git is known here: it reads, sees an environment of ours alone, and ends with all that it started."""

from __future__ import annotations

import ast
import os
import re
import shutil
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

import runtime
from runtime.codebase.git.base_files import base_commits
from runtime.codebase.git.git_process import MAX_OUTPUT_BYTES, Git
from runtime.errors import InputError, RepositoryError
from tests.attacks.repositories import HISTORY, Site, git, grow, questions_of_history, told
from tests.readiness import is_ready

TREE = Path(str(runtime.__file__)).parent.parent
PACKAGES = ("runtime", "actors", "serve")
STARTERS = {
    *("run", "Popen", "call", "check_call", "check_output", "getoutput", "getstatusoutput", "system", "popen"),
    *("create_subprocess_exec", "create_subprocess_shell", "posix_spawn", "posix_spawnp", "startfile", "fork"),
    *(f"{how}{kind}" for how in ("exec", "spawn") for kind in ("l", "le", "lp", "lpe", "v", "ve", "vp", "vpe")),
}
MAY_START = {
    "runtime/processes/programs.py": "git and rg, by `run_program`",
    "runtime/processes/worker_process.py": "ourselves, to call functions of ours",
    "runtime/processes/worker_main.py": "itself, to keep the worker",
    "actors/cluster.py": "the reaper of a cluster",
    "serve/cli/commands/up_down.py": "jeeves itself",
    "serve/cli/output/places.py": "the editor of the operator",
    "serve/grpc/generate.py": "protoc, for who changes the gRPC door",
    "serve/deployed/joined_service.py": "ourselves, to start a system that outlives the replica",
}
MAY_RUN_PROGRAMS = {
    "runtime/codebase/git/git_process.py": "git",
    "runtime/codebase/git/git_writer.py": "git",
    "runtime/codebase/search/ripgrep.py": "rg",
    "runtime/processes/named_commands.py": "what an operator named or allowed",
    "actors/capabilities/violation_fix/checks/linter.py": "ruff",
    "actors/capabilities/violation_fix/checks/layout.py": "ruff",
    "actors/capabilities/violation_fix/verification/test_runs.py": "the tests of a repository whose fix was asked for",
}
VARIABLES = {
    *("PATH", "HOME", "XDG_CONFIG_HOME", "LC_ALL", "GIT_DIR", "GIT_WORK_TREE", "GIT_CONFIG_NOSYSTEM", "GIT_PAGER"),
    *("GIT_CONFIG_GLOBAL", "GIT_ATTR_NOSYSTEM", "GIT_TERMINAL_PROMPT", "GIT_OPTIONAL_LOCKS", "GIT_NO_LAZY_FETCH"),
    *("GIT_LITERAL_PATHSPECS", "GIT_ALLOW_PROTOCOL"),
}
MADE_BY_THE_SHELL = {"PWD", "OLDPWD", "SHLVL", "_"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    made = Site(tmp_path_factory.mktemp("calls"))
    yield made
    made.codebase.close()


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which each call of git leaves its arguments and its environment."""
    program = tmp_path / "bin/git"
    program.parent.mkdir()
    program.write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$@" > "{tmp_path}/call.$$"\nenv > "{tmp_path}/env.$$"\n'
        f'exec "{shutil.which("git")}" "$@"\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    return tmp_path


def sources(*names: str) -> Iterator[tuple[str, list[ast.AST]]]:
    """The nodes of every module in which one of the names stands; of every module where none is given."""
    wanted = re.compile(rf"\b({'|'.join(names)})\b")
    for path in (path for package in PACKAGES for path in (TREE / package).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        # Python takes other characters in a name for the letters that they look like.
        if wanted.search(unicodedata.normalize("NFKC", text)):
            yield path.relative_to(TREE).as_posix(), list(ast.walk(ast.parse(text)))


def constants(argument: ast.expr) -> list[str]:
    """What is known of an argument before it is run: a whole string, or how it begins."""
    if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
        return [argument.value]
    if isinstance(argument, ast.JoinedStr) and argument.values and isinstance(argument.values[0], ast.Constant):
        return [str(argument.values[0].value)]
    return []


def calls_of_git() -> dict[str, list[str]]:
    """Where git is called, and the arguments that stand in the source there."""
    found = {}
    for path, nodes in sources():
        imported = {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
        names_git = "runtime.codebase.git.git_process" in imported
        for node in nodes:
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            if node.func.attr not in ("run", "history"):
                continue
            receiver = ast.unparse(node.func.value)
            if (names_git and "git" in receiver) or (path.endswith("git_process.py") and receiver == "self"):
                found[f"{path}:{node.lineno}"] = [text for each in node.args for text in constants(each)]
    return found


def test_every_question_of_history_is_asked_by_these_tests() -> None:
    assert set(HISTORY) == questions_of_history()


def cut_off(folder: Path) -> Path:
    """A repository whose branch was merged into its work tree's, and ends there by `.git/shallow`."""
    root = grow(folder)
    git(root, "branch", "base")
    git(root, "checkout", "-q", "-b", "side")
    for name in ("first", "second"):
        git(root, "commit", "-q", "--allow-empty", "-m", name, day=5)
    git(root, "checkout", "-q", "-b", "work", "base")
    git(root, "merge", "-q", "--no-ff", "-m", "Merge", "side", day=6)
    (root / ".git/shallow").write_text(git(root, "rev-parse", "side"))
    return root


@pytest.mark.long
def test_every_call_of_git_in_the_source_is_made_by_these_tests(site: Site, recorded: Path) -> None:
    wanted = calls_of_git()
    assert len(wanted) >= 12
    told(site.root)
    site.ask()
    with pytest.raises(InputError, match="fetch the whole history"):
        base_commits(Git(cut_off(recorded / "cut")), "base")
    made = [path.read_text().split("\n") for path in recorded.glob("call.*")]

    def is_made(known: list[str]) -> bool:
        return any(all(any(each.startswith(text) for each in call) for text in known) for call in made)

    assert {place: known for place, known in wanted.items() if not is_made(known)} == {}


def test_nothing_else_starts_programs() -> None:
    found: dict[str, set[str]] = {}
    running: set[str] = set()
    for path, nodes in sources("subprocess", "os", "asyncio", "pty", "multiprocessing", "run_program"):
        for node in nodes:
            if isinstance(node, ast.Attribute) and node.attr in STARTERS:
                owner = ast.unparse(node.value)
                if owner in ("subprocess", "os", "asyncio", "asyncio.subprocess", "pty", "multiprocessing"):
                    found.setdefault(path, set()).add(f"{owner}.{node.attr}")
            if isinstance(node, ast.ImportFrom) and node.module in ("subprocess", "os", "pty"):
                assert STARTERS.isdisjoint(name.name for name in node.names), path
            if isinstance(node, ast.ImportFrom) and any(name.name == "run_program" for name in node.names):
                running.add(path)
    starting = {path for path, names in found.items() if names != {"asyncio.run"}}
    assert starting == set(MAY_START)
    assert running == set(MAY_RUN_PROGRAMS)


@pytest.mark.parametrize("command", ["fetch", "config", "gc", "submodule", "checkout", "difftool", "-c", "--exec-path"])
def test_a_command_that_does_more_than_read_is_refused(tmp_path: Path, command: str) -> None:
    with pytest.raises(RepositoryError, match="is not run"):
        Git(grow(tmp_path / "repo")).run(command)


HOSTILE = {
    "GIT_DIR": "FOLDER/other/.git",
    "GIT_WORK_TREE": "/",
    "GIT_INDEX_FILE": "/nonexistent",
    "GIT_COMMON_DIR": "FOLDER/other/.git",
    "GIT_OBJECT_DIRECTORY": "/nonexistent",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES": "FOLDER/other/.git/objects",
    "GIT_NAMESPACE": "x",
    "GIT_CEILING_DIRECTORIES": "/",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_PARAMETERS": "'core.fsmonitor'='TRAP'",
    "GIT_CONFIG_GLOBAL": "FOLDER/config",
    "GIT_CONFIG_SYSTEM": "FOLDER/config",
    "GIT_CONFIG_NOSYSTEM": "0",
    "GIT_CONFIG": "FOLDER/config",
    "GIT_EXTERNAL_DIFF": "TRAP",
    "GIT_DIFF_OPTS": "-u0",
    "GIT_PAGER": "TRAP",
    "PAGER": "TRAP",
    "GIT_EDITOR": "TRAP",
    "GIT_SEQUENCE_EDITOR": "TRAP",
    "GIT_SSH": "TRAP",
    "GIT_SSH_COMMAND": "TRAP",
    "GIT_ASKPASS": "TRAP",
    "SSH_ASKPASS": "TRAP",
    "GIT_PROXY_COMMAND": "TRAP",
    "GIT_EXEC_PATH": "FOLDER",
    "GIT_TEMPLATE_DIR": "FOLDER",
    "GIT_ATTR_SOURCE": "HEAD~1",
    "GIT_ATTR_NOSYSTEM": "0",
    "GIT_GRAFT_FILE": "FOLDER/graft",
    "GIT_SHALLOW_FILE": "FOLDER/graft",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_REPLACE_REF_BASE": "refs/heads",
    "GIT_NOTES_REF": "refs/heads/main",
    "GIT_GLOB_PATHSPECS": "1",
    "GIT_ICASE_PATHSPECS": "1",
    "GIT_LITERAL_PATHSPECS": "0",
    "GIT_OPTIONAL_LOCKS": "1",
    "GIT_NO_LAZY_FETCH": "0",
    "GIT_ALLOW_PROTOCOL": "ext",
    "GIT_TERMINAL_PROMPT": "1",
    "GIT_REDIRECT_STDOUT": "FOLDER/ran",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM": "1",
    "GIT_DEFAULT_HASH": "sha256",
    "GIT_PREFIX": "pkg/",
    "GIT_INTERNAL_SUPER_PREFIX": "pkg/",
    "GIT_IMPLICIT_WORK_TREE": "0",
    "GIT_ALLOC_LIMIT": "1",
    "GIT_MMAP_LIMIT": "1",
    "GIT_TEST_FSMONITOR": "TRAP",
    "GIT_TRACE": "FOLDER/ran",
    "GIT_TRACE_SETUP": "FOLDER/ran",
    "GIT_TRACE_REFS": "FOLDER/ran",
    "GIT_TRACE_PACK_ACCESS": "FOLDER/ran",
    "GIT_TRACE_PERFORMANCE": "FOLDER/ran",
    "GIT_TRACE2": "FOLDER/ran",
    "GIT_TRACE2_EVENT": "FOLDER/ran",
    "GIT_TRACE2_PERF": "FOLDER/ran",
    "LANG": "de_DE.UTF-8",
    "LC_ALL": "de_DE.UTF-8",
    "LANGUAGE": "de",
    "LESSOPEN": "|TRAP",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_variable_of_the_caller_runs_nothing_and_changes_no_answer(
    site: Site, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    folder = site.canary.program.parent
    (folder / "graft").write_text(git(site.root, "rev-parse", "HEAD"))
    (folder / "config").write_text(f"[core]\n\tfsmonitor = {site.canary.program}\n[diff]\n\tnoprefix = true\n")
    monkeypatch.setenv(name, HOSTILE[name].replace("TRAP", str(site.canary.program)).replace("FOLDER", str(folder)))
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.fsmonitor")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", str(site.canary.program))
    assert told(site.root) == site.harmless
    assert not site.canary.sang()


def test_git_sees_no_variables_but_those_that_are_listed_here(
    site: Site, recorded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (*HOSTILE, "SECRET_TOKEN", "LD_PRELOAD_OF_MINE"):
        monkeypatch.setenv(name, "x")
    told(site.root)
    seen = {line.partition("=")[0] for path in recorded.glob("env.*") for line in path.read_text().splitlines()}
    passed_on = {"LD_LIBRARY_PATH"} & set(os.environ)
    assert seen - MADE_BY_THE_SHELL == VARIABLES | passed_on


def test_a_program_named_git_in_the_repository_is_not_taken_for_git(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = grow(tmp_path / "repo")
    (root / "git").write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    (root / "git").chmod(0o755)
    monkeypatch.chdir(root)
    monkeypatch.setenv("PATH", f".::{os.environ['PATH']}")
    assert told(root)["log"]
    assert not (tmp_path / "ran").exists()


def with_child(tmp_path: Path, then: str, timeout_s: float) -> Git:
    """A program that starts another one; both hold a pipe open as long as they live."""
    os.mkfifo(tmp_path / "held")
    program = tmp_path / "git"
    program.write_text(f'#!/bin/sh\nexec 3> "{tmp_path}/held"\nsleep 30 > /dev/null < /dev/null &\n{then}\n')
    program.chmod(0o755)
    return Git(grow(tmp_path / "repo"), program=str(program), timeout_s=timeout_s)


def held_until_all_ended(tmp_path: Path) -> int:
    """A descriptor that is at its end once nobody holds the pipe open any more."""
    return os.open(tmp_path / "held", os.O_RDONLY | os.O_NONBLOCK)


@pytest.mark.parametrize(
    ("then", "message"),
    [
        ("wait", "longer than 0.3 s"),
        (f"head -c {2 * MAX_OUTPUT_BYTES} /dev/zero; wait", None),
        ("exit 0", None),
        ("exit 3", "status 3"),
    ],
    ids=["too long", "too much", "done", "failed"],
)
def test_git_ends_with_all_that_it_started(tmp_path: Path, then: str, message: str | None) -> None:
    asked = with_child(tmp_path, then, 0.3 if then == "wait" else 30.0)
    reader = held_until_all_ended(tmp_path)
    if message:
        with pytest.raises(RepositoryError, match=message):
            asked.run("log")
    else:
        assert len(asked.run("log")) in (0, MAX_OUTPUT_BYTES)
    ended = is_ready(reader, 15)
    os.close(reader)
    assert ended, "what git started goes on"


@pytest.mark.parametrize("size", [MAX_OUTPUT_BYTES - 1, MAX_OUTPUT_BYTES, MAX_OUTPUT_BYTES + 1])
def test_what_git_says_is_cut(tmp_path: Path, size: int) -> None:
    program = tmp_path / "git"
    program.write_text(f"#!/bin/sh\nexec head -c {size} /dev/zero\n")
    program.chmod(0o755)
    assert len(Git(grow(tmp_path / "repo"), program=str(program)).run("log")) == min(size, MAX_OUTPUT_BYTES)


def test_our_folder_is_gone_when_nobody_asks_any_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = grow(tmp_path / "repo")
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    asked = Git(root)
    asked.run("rev-parse", "HEAD")
    made = list((tmp_path / "temporary").iterdir())
    assert [path.name.startswith("jeeves-git-") for path in made] == [True]
    assert made[0].stat().st_mode & 0o077 == 0
    del asked
    assert list((tmp_path / "temporary").iterdir()) == []
    assert (root / ".git/objects").is_dir()
