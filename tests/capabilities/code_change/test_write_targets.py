"""Paths that no session may write, though they lie beside what it explored."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pytest

from actors.capabilities.code_change.evidence.changed_lines import ChangedLines
from actors.capabilities.code_change.evidence.checklist_evidence import refutation
from actors.capabilities.code_change.evidence.write_guard import write_refusal
from runtime.contracts.session_state import SessionState
from tests.capabilities.code_change.played_agent import Agent, git, repository
from tests.runtime.contracts.session_player import Player


@pytest.fixture
def state() -> SessionState:
    return Player().state.with_(explored=("pkg/keys.py",), shown={"pkg/keys.py": ((1, 1),)})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg/keys.py").write_text("KEYS = 1\n")
    return tmp_path


LONG = "n" * 256


@pytest.mark.parametrize("file", [LONG, f"pkg/{LONG}.py", f"{LONG}/keys.py", "pkg/" + "a/" * 2_500 + "x.py"])
def test_a_name_that_is_too_long_for_the_disk_is_refused_as_one(state: SessionState, folder: Path, file: str) -> None:
    assert "cannot be looked at: File name too long" in str(
        write_refusal(state, file, folder, stood, reads_count=False)
    )
    nothing = ChangedLines((), {}, {}, frozenset())
    assert "cannot be looked at: File name too long" in str(refutation(f"{file}:1", folder, nothing))


def stood(files: Collection[str]) -> set[str]:
    return set(files) & {"pkg/keys.py", ".gitattributes"}


@pytest.mark.parametrize(
    ("file", "why"),
    [
        ("pkg/keys.py/x", "'pkg/keys.py/x' would lie below 'pkg/keys.py', which is a file"),
        ("pkg/keys.py/deep/x.py", "would lie below 'pkg/keys.py'"),
        ("pkg/.gitattributes", "would decide how git shows files"),
        ("pkg/.GitAttributes", "would decide how git shows files"),
        ("pkg/new.py", ""),
        ("pkg/new/one.py", ""),
        ("pkg/keys.py", ""),
    ],
)
def test_nothing_is_written_below_a_file_and_no_new_attributes_are(
    state: SessionState, folder: Path, file: str, why: str
) -> None:
    told = write_refusal(state, file, folder, stood, reads_count=False)
    assert (why in str(told)) if why else told is None


def test_attributes_that_are_there_and_were_explored_may_be_written(state: SessionState, folder: Path) -> None:
    (folder / ".gitattributes").write_text("*.png binary\n")
    known = state.with_(explored=(*state.explored, ".gitattributes"))
    assert write_refusal(known, ".gitattributes", folder, stood, reads_count=False) is None


LAUNDERED = [".claude/settings.json", "new/one.py", "pkg/.gitattributes", "new/.gitattributes"]


@pytest.mark.parametrize("file", LAUNDERED)
def test_a_file_that_the_session_made_itself_is_new_also_when_it_was_read(
    state: SessionState, folder: Path, file: str
) -> None:
    (folder / file).parent.mkdir(exist_ok=True)
    (folder / file).write_text("made\n")
    known = state.with_(explored=(*state.explored, file), shown={**state.shown, file: ((1, 1),)})
    for reads_count in (False, True):
        told = write_refusal(known, file, folder, stood, reads_count=reads_count)
        assert told is not None
        assert "would be a new file" in told or "would decide how git shows files" in told


def test_a_folder_that_the_session_made_without_permission_makes_no_room_for_others(
    state: SessionState, folder: Path
) -> None:
    (folder / "new").mkdir()
    (folder / "new/one.py").write_text("made\n")
    known = state.with_(explored=(*state.explored, "new/one.py"))
    assert "would be a new file" in str(write_refusal(known, "new/two.py", folder, stood, reads_count=False))
    permitted = known.with_(permitted=("new/one.py",))
    assert write_refusal(permitted, "new/two.py", folder, stood, reads_count=False) is None
    assert write_refusal(permitted, "new/one.py", folder, stood, reads_count=False) is None


@pytest.mark.parametrize("flags", [[], ["fast"], ["quick"]])
async def test_a_file_that_was_made_and_read_afterwards_is_not_permitted(tmp_path: Path, flags: list[str]) -> None:
    agent = Agent(repository(tmp_path / "project"), tmp_path / "state")
    await agent.start(flags=flags)
    await agent.see("read_code", "load.py")
    await agent.go_to(13)
    made = [".claude/settings.json", ".gitattributes", "deep/er/x.py"]
    for file in made:
        agent.edit(file, "{}\n")
        await agent.see("read_code", file)
        await agent.session.add_explored_files([file])
        told = await agent.session.check_write_target(file)
        assert told["permitted"] is False, told
    (agent.workspace / "more.py").write_text("MORE = 1\n")
    await agent.see("read_code", "more.py")
    await agent.session.add_explored_files(["more.py"])
    assert (await agent.session.check_write_target("more.py"))["permitted"]


async def test_what_the_user_had_not_committed_is_no_new_file_of_the_session(tmp_path: Path) -> None:
    agent = Agent(repository(tmp_path / "project"), tmp_path / "state")
    (agent.root / "own").mkdir()
    (agent.root / "own/draft.py").write_text("DRAFT = 1\n")
    await agent.start(flags=["quick"])
    await agent.see("read_code", "load.py", "own/draft.py")
    await agent.go_to(13)
    assert (await agent.session.check_write_target("own/draft.py"))["permitted"]
    assert (await agent.session.check_write_target("own/other.py"))["permitted"]


async def test_a_file_that_came_with_the_base_branch_is_no_new_file(tmp_path: Path) -> None:
    agent = Agent(repository(tmp_path / "project"), tmp_path / "state")
    await agent.start()
    await agent.go_to(13)
    git(agent.root, "worktree", "add", "-q", str(tmp_path / "beside"), "main")
    (tmp_path / "beside/sub").mkdir()
    (tmp_path / "beside/sub/more.py").write_text("MORE = 1\n")
    git(tmp_path / "beside", "add", "-A")
    git(tmp_path / "beside", "commit", "-qm", "moved on")
    git(agent.workspace, "merge", "-q", "main")
    await agent.see("read_code", "sub/more.py")
    await agent.session.add_explored_files(["sub/more.py"])
    assert (await agent.session.check_write_target("sub/more.py"))["permitted"]


LISTED = {"pkg/keys.py": ((1, 1),), "pkg/long.py": ((1, 1), (40, 40)), "pkg/read.py": ((5, 7),)}


@pytest.mark.parametrize(
    ("file", "is_permitted"),
    [("pkg/long.py", False), ("pkg/read.py", True), ("pkg/keys.py", True), ("pkg/new.py", True)],
)
def test_without_an_exploration_a_file_counts_that_was_read_and_not_one_that_was_listed(
    state: SessionState, folder: Path, file: str, is_permitted: bool
) -> None:
    for name in ("long.py", "read.py"):
        (folder / "pkg" / name).write_text("LINE = 1\n" * 50)
    fast = state.with_(explored=(), shown=LISTED)
    told = write_refusal(fast, file, folder, set, reads_count=True)
    assert (told is None) == is_permitted, told
    assert is_permitted or "hardly a line was shown; read it with read_code" in str(told)


@pytest.mark.parametrize(("reads_count", "then"), [(True, "ask again"), (False, "call add_explored_files")])
def test_a_file_that_nobody_saw_is_refused_with_what_is_to_be_done_then(
    state: SessionState, folder: Path, reads_count: bool, then: str
) -> None:
    (folder / "pkg/unseen.py").write_text("LINE = 1\n")
    told = write_refusal(
        state.with_(permitted=()), "pkg/unseen.py", folder, lambda files: files, reads_count=reads_count
    )
    assert str(told).endswith(f"read it with this server's tools, then {then}")


def test_a_listed_file_is_not_read_because_it_was_added_to_the_explored_ones(state: SessionState, folder: Path) -> None:
    (folder / "pkg/long.py").write_text("LINE = 1\n" * 50)
    fast = state.with_(explored=("pkg/long.py",), shown=LISTED)
    assert write_refusal(fast, "pkg/long.py", folder, set, reads_count=True) is not None
    assert write_refusal(fast.with_(permitted=("pkg/long.py",)), "pkg/long.py", folder, set, reads_count=True) is None


async def test_what_a_build_left_is_told_with_what_becomes_of_it(tmp_path: Path) -> None:
    agent = Agent(repository(tmp_path / "project"), tmp_path / "state")
    await agent.start()
    await agent.go_to(14)
    for number in range(25):
        agent.edit(f"build/{number:02}.o", "made\n")
    problems = (await agent.step())["error"]["problems"]
    assert problems[0] == "files: build/00.o was changed, but it is new, and check_write_target never permitted it"
    assert problems[-2] == "files: and 5 more"
    assert "delete what a test or a build left, or have `.gitignore` name it" in problems[-1]


@pytest.mark.parametrize("reads_count", [True, False])
@pytest.mark.parametrize(
    ("file", "is_permitted"), [("pkg/logo.png", True), ("assets/logo.png", False), ("asked/logo.png", True)]
)
def test_a_binary_file_counts_where_its_folder_was_explored_or_it_was_asked_for(
    state: SessionState, folder: Path, file: str, is_permitted: bool, reads_count: bool
) -> None:
    (folder / file).parent.mkdir(exist_ok=True)
    (folder / file).write_bytes(b"\x89PNG\0" + bytes(range(256)))
    seen = state.with_(shown={**state.shown, "asked/logo.png": ((1, 1),)})
    told = write_refusal(seen, file, folder, lambda files: files, reads_count=reads_count)
    assert (told is None) == is_permitted, told
    assert is_permitted or "is binary, so that no tool shows its lines; call read_code with it" in str(told)


@pytest.mark.parametrize(("file", "is_permitted"), [("pkg/new.py", True), ("other/new.py", False)])
def test_a_new_file_that_was_written_before_it_was_asked_for_is_judged_as_a_new_one(
    state: SessionState, folder: Path, file: str, is_permitted: bool
) -> None:
    (folder / "other").mkdir()
    (folder / file).write_text("NEW = 1\n")
    told = write_refusal(state, file, folder, stood, reads_count=True)
    assert (told is None) == is_permitted, told
    assert is_permitted or "would be a new file in a folder of which nothing was explored" in str(told)
