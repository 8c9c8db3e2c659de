"""A command that was forked ends as the program does that was started."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.doors.program import Program
from tests.doors.sample_repo import QUESTION
from tests.examples import long_but


@pytest.mark.parametrize(
    "arguments",
    long_but(
        [
            ["ask", "What does frobnicate_quux do? «»", "--repo", "repo"],
            ["ask", QUESTION, "--repo", b"nowhere-\xff"],
            ["ask", "--colour"],
            ["tool", "nonsense", "--repo", "repo"],
            ["runs", "--help"],
        ],
        1,
        2,
    ),
    ids=lambda arguments: " ".join(map(str, arguments[:2])),
)
def test_a_forked_command_says_what_a_started_one_says(
    jeeves: Program, repo: Path, arguments: list[str | bytes]
) -> None:
    forked = jeeves.run(*arguments)
    jeeves.forks = False
    started = jeeves.run(*arguments)
    assert (forked.status, forked.out, forked.err) == (started.status, started.out, started.err)


@pytest.mark.long
def test_a_forked_command_has_settings_of_its_own(jeeves: Program, repo: Path) -> None:
    env = {"JEEVES_CODE_INDEX__MAX_FILES": "4"}
    jeeves.ask(QUESTION, repo, env=env).complains(2, "more than 4 files")
    assert json.loads(jeeves.ask(QUESTION, repo).out)["citations"]


@pytest.mark.long
def test_a_forked_command_that_takes_too_long_is_killed(jeeves: Program, repo: Path) -> None:
    with pytest.raises(TimeoutError):
        jeeves.ask(QUESTION, repo, timeout_s=0.001)
    assert jeeves.ask(QUESTION, repo).status == 0
