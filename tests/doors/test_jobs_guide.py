"""docs/guides/jobs.md and the job of docs/guides/batch.md: their commands run as they stand, on a node made for it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.doors.page_blocks import PageShell, shell_blocks
from tests.doors.program import JEEVES, TREE, WITHOUT_VECTORS, wait_until
from tests.doors.ray_head import RayHead
from tests.doors.sample_repo import FILES, QUESTION, write_files
from tests.runtime.codebase.test_git_writing import WHO, git

pytestmark = [pytest.mark.ray, pytest.mark.slow, pytest.mark.timeout(600)]

SUBMIT, STEER, PLAIN = shell_blocks("guides/jobs.md")
(OF_BATCH,) = shell_blocks("guides/batch.md")
START, BATCH, FIX = SUBMIT.splitlines()
LIST, FOLLOW, STOP = STEER.splitlines()


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[PageShell]:
    """A machine with a node, two questions, and a repository in which nothing is to be fixed."""
    shop = write_files(tmp_path / "repositories" / "shop", FILES)
    git(shop, "init", "-q", "-b", "main")
    git(shop, "add", "-A")
    git(shop, "config", "user.name", WHO.name)
    git(shop, "config", "user.email", WHO.email)
    git(shop, "commit", "-q", "-m", "first")
    questions = [{"id": name, "question": QUESTION, "repo": str(shop)} for name in ("a", "b")]
    text = "".join(f"{json.dumps(each)}\n" for each in questions)
    (tmp_path / "questions.jsonl").write_text(text, encoding="utf-8")
    own = {"JEEVES_STATE_DIR": str(tmp_path / "state"), "HOME": str(tmp_path), **WITHOUT_VECTORS}
    path = f"{JEEVES.parent}{os.pathsep}{os.environ['PATH']}"
    # Ray's `start --head` as the page has it, but on free ports and in a folder of its own.
    assert START == "ray start --head --disable-usage-stats"
    with RayHead({**os.environ, **TREE, **own, "PATH": path}) as head:
        places = {"http://127.0.0.1:8265": head.address, "/srv": str(tmp_path)}
        made = PageShell(tmp_path, places, **own, RAY_AUTH_MODE="disabled", RAY_API_SERVER_ADDRESS=head.address)
        # The agent of a node that takes jobs comes some time after the node itself.
        wait_until(lambda: "taken" in made.run("ray job submit --no-wait -- true && echo taken || true"))
        yield made


def answered(file: Path) -> list[str]:
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert all(line["citations"] for line in lines)
    return sorted(line["id"] for line in lines)


def test_jobs_are_submitted_followed_and_listed_as_the_page_says(shell: PageShell) -> None:
    told = shell.run(BATCH)
    assert answered(shell.folder / "answers.jsonl") == ["a", "b"]
    (job,) = set(re.findall(r"job (\S+) is submitted", told))
    # The other page has the same command: it goes on with that job's output, in which nothing is left to do.
    assert OF_BATCH.strip() == BATCH
    shell.run(OF_BATCH)
    assert answered(shell.folder / "answers.jsonl") == ["a", "b"]
    assert "C901" in shell.run(FIX)
    assert job in shell.run(LIST)
    assert "succeeded" in shell.run(FOLLOW.replace("JOB", job))
    shell.run(f"{STOP.replace('JOB', job)} || test $? -eq 2")


def test_the_modules_behind_the_jobs_run_as_the_page_says(shell: PageShell) -> None:
    told = shell.run(PLAIN, timeout_s=400)
    assert answered(shell.folder / "answers.jsonl") == ["a", "b"]
    assert told.count("succeeded") >= 2
