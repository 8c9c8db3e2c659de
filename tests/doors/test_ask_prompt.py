"""`jeeves ask` without a question: a prompt with history that keeps its session; `--open` opens what is cited."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.doors.program import JEEVES, PATIENT_S, Program
from tests.doors.sample_repo import QUESTION
from tests.readiness import is_ready

IN_PROCESS = {"JEEVES_RAY__MODE": "in_process"}


class Terminal:
    """The prompt at a terminal of its own; `before` is carried out in the process before it becomes the program."""

    def __init__(self, program: Program, *args: str | Path, **env: str) -> None:
        self.here, self.there = pty.openpty()
        self.read = b""
        # A session of its own with this terminal, so that Ctrl-C typed there reaches the program.
        take = (
            "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
        )
        self.process = subprocess.Popen(
            [sys.executable, "-c", take, str(JEEVES), "ask", *args],
            stdin=self.there,
            stdout=self.there,
            stderr=self.there,
            env={**program.env, **IN_PROCESS, "TERM": "xterm", **env},
            start_new_session=True,
        )

    def echoes(self) -> bool:
        """Whether the terminal shows what is typed by itself."""
        return bool(termios.tcgetattr(self.there)[3] & termios.ECHO)

    def until(self, mark: bytes) -> str:
        """What is shown up to the next `mark`, which is passed over."""
        deadline_s = time.monotonic() + PATIENT_S
        while mark not in self.read:
            assert time.monotonic() < deadline_s, self.read
            if is_ready(self.here, 0.1):
                self.read += os.read(self.here, 65_536)
        shown, _, self.read = self.read.partition(mark)
        return shown.decode("utf-8", "replace")

    def type(self, line: bytes) -> None:
        os.write(self.here, line)

    def ends(self, status: int) -> None:
        assert self.process.wait(timeout=PATIENT_S) == status, self.read

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
        os.close(self.here)
        os.close(self.there)


@pytest.fixture
def terminal(jeeves: Program, request: pytest.FixtureRequest) -> Callable[..., Terminal]:
    def opened(*args: str | Path, **env: str) -> Terminal:
        made = Terminal(jeeves, *args, **env)
        request.addfinalizer(made.close)
        return made

    return opened


def test_without_a_terminal_a_question_has_to_be_given(jeeves: Program, repo: Path) -> None:
    jeeves.run("ask", "--repo", repo, env=IN_PROCESS).complains(2, "there is no question", "terminal")


@pytest.mark.long
def test_a_prompt_answers_one_question_after_the_other_in_one_session(
    jeeves: Program, repo: Path, terminal: Callable[..., Terminal]
) -> None:
    first = terminal("--repo", repo, JEEVES_LIMITS__MAX_QUESTION_CHARS="60")
    session = re.findall(r"session (prompt-[0-9a-f]{12});", first.until(b"? "))
    first.type(f"  \n{QUESTION}\n".encode())
    assert "post/office.py" in first.until(b"Confidence")
    first.until(b"? ")
    first.type(b"x" * 61 + b"\n")
    first.until(b"at most 60 are allowed")
    first.until(b"? ")
    first.type(b"Who calls it?\n")
    assert "deliver" in first.until(b"Confidence")
    first.until(b"? ")
    first.type(b"exit\n")
    first.ends(0)
    history = jeeves.state_dir / "ask_history"
    assert history.stat().st_mode & 0o777 == 0o600
    assert [line for line in history.read_text().splitlines() if len(line) < 60] == [QUESTION, "Who calls it?"]
    again = terminal("--repo", repo, "--session", *session)
    again.until(b"? ")
    again.type(b"\x1b[A")
    again.until(b"Who calls it?")
    again.type(b"\n")
    assert "deliver" in again.until(b"Confidence")
    again.until(b"? ")
    again.type(b"\x04")
    again.ends(0)


def test_two_prompts_at_once_keep_the_questions_of_both(
    jeeves: Program, repo: Path, terminal: Callable[..., Terminal]
) -> None:
    prompts = [terminal("--repo", repo, JEEVES_LIMITS__MAX_QUESTION_CHARS="5") for _ in range(2)]
    for at, question in zip(prompts, (b"the first one", b"the second one"), strict=True):
        at.until(b"? ")
        at.type(question + b"\n")
        at.until(b"at most 5 are allowed")
    for at in prompts:
        at.until(b"? ")
        at.type(b"exit\n")
        at.ends(0)
    assert (jeeves.state_dir / "ask_history").read_text().splitlines() == ["the first one", "the second one"]


def test_ctrl_c_at_the_prompt_ends_it_and_leaves_the_terminal_as_it_was(
    repo: Path, terminal: Callable[..., Terminal]
) -> None:
    at = terminal("--repo", repo)
    assert at.echoes()
    at.until(b"? ")
    at.type(b"half a question")
    at.until(b"half a question")
    assert not at.echoes()
    at.type(b"\x03")
    at.ends(130)
    assert at.echoes()


@pytest.fixture
def editor(tmp_path: Path) -> Path:
    """An editor that notes its arguments, one a line."""
    script = tmp_path / "my editor"
    script.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > "{tmp_path}/edited"\nexit 3\n')
    script.chmod(0o755)
    return script


@pytest.mark.long
def test_the_first_cited_place_is_opened_without_a_shell(
    jeeves: Program, repo: Path, editor: Path, tmp_path: Path
) -> None:
    hostile = repo.parent / "a $(touch made) `touch made`; touch made"
    repo.rename(hostile)
    done = jeeves.run("ask", QUESTION, "--repo", hostile, "--open", env={**IN_PROCESS, "EDITOR": f"'{editor}' --flag"})
    assert (done.status, "ended with status 3" in done.err) == (0, True)
    assert (tmp_path / "edited").read_text().splitlines() == ["--flag", str(hostile / "post" / "office.py")]
    assert list(tmp_path.rglob("made")) == []


@pytest.mark.long
def test_an_editor_that_is_missing_is_told_before_anything_is_asked(jeeves: Program, repo: Path) -> None:
    env = {**IN_PROCESS, "VISUAL": "", "EDITOR": ""}
    jeeves.run("ask", QUESTION, "--repo", repo, "--open", env=env).complains(2, "set EDITOR")
    jeeves.run("ask", QUESTION, "--repo", repo, "--open", env={**env, "EDITOR": "no-such-editor"}).complains(
        2, "no-such-editor", "not installed"
    )
    assert not (jeeves.state_dir / "index").exists()


@pytest.mark.long
def test_an_answer_that_cites_nothing_opens_nothing(jeeves: Program, repo: Path, editor: Path, tmp_path: Path) -> None:
    env = {**IN_PROCESS, "EDITOR": f"'{editor}'"}
    done = jeeves.run("ask", "Where is a zebra fed?", "--repo", repo, "--open", env=env)
    assert (done.status, "cites no place" in done.err) == (3, True)
    assert not (tmp_path / "edited").exists()
