"""Batches and fixes as jobs of a real Ray cluster: submitted twice, stopped half-way, submitted again, and failing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.doors.program import TREE, WITHOUT_VECTORS, Outcome, Program, wait_until
from tests.doors.ray_head import RayHead
from tests.runtime.codebase.test_git_writing import WHO, git

pytestmark = [pytest.mark.ray, pytest.mark.slow, pytest.mark.timeout(600)]

LINES = 240
UNUSED = "import os\n\n\ndef letters(box: str) -> list[str]:\n    return sorted(box)\n"
TESTS = "from box import letters\n\n\ndef test_letters() -> None:\n    assert letters('ba') == ['a', 'b']\n"


@pytest.fixture
def head() -> Iterator[RayHead]:
    """A head node with the job API."""
    with RayHead({**os.environ, **TREE}) as started:
        yield started


class Jobs:
    """Submits to a head node; `variables` are those of each job."""

    def __init__(self, head: RayHead, jeeves: Program, folder: Path) -> None:
        self.head, self.jeeves = head, jeeves
        self.variables = {**TREE, **WITHOUT_VECTORS, "JEEVES_STATE_DIR": str(folder / "of_jobs")}

    def submit(self, kind: str, *arguments: str, timeout_s: float = 400) -> Outcome:
        """Run `jeeves submit`."""
        options = ["--address", self.head.address, "--python", sys.executable]
        options += [part for name, value in self.variables.items() for part in ("--env", f"{name}={value}")]
        return self.jeeves.run("submit", kind, *options, *arguments, timeout_s=timeout_s)

    def plainly(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run `ray job` as one who has no `jeeves submit`."""
        command = [sys.executable, "-m", "ray.scripts.scripts", "job", arguments[0], "--address", self.head.address]
        return subprocess.run(
            [*command, *arguments[1:]],
            env=self.head.environment,
            capture_output=True,
            text=True,
            timeout=400,
            check=False,
        )

    def submit_plainly(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run `ray job submit`."""
        environment = json.dumps({"env_vars": self.variables})
        return self.plainly("submit", "--runtime-env-json", environment, *arguments)

    def listed(self) -> str:
        """What the list of jobs says."""
        return self.jeeves.run("submit", "list", "--address", self.head.address).out


@pytest.fixture
def jobs(head: RayHead, ray_jeeves: Program, tmp_path: Path) -> Jobs:
    return Jobs(head, ray_jeeves, tmp_path)


def questions(folder: Path, repo: Path, count: int) -> tuple[Path, Path]:
    """A file of questions, and where their answers are to be."""
    lines = [{"id": f"q{n}", "question": f"Where are letters sorted? {n}", "repo": str(repo)} for n in range(count)]
    source = folder / "in.jsonl"
    source.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return source, folder / "out.jsonl"


def some_answers(out: Path) -> bool:
    return out.is_file() and out.read_bytes().count(b"\n") >= 2


def each_once(out: Path, kept: list[str], count: int) -> bool:
    """Whether every line is answered once, and those that were kept stand where they were."""
    after = out.read_text().splitlines()
    told = Counter(json.loads(line)["id"] for line in after)
    return after[: len(kept)] == kept and told == Counter(f"q{n}" for n in range(count))


def test_a_job_submitted_twice_and_stopped_half_way_answers_each_line_once(
    jobs: Jobs, repo: Path, tmp_path: Path
) -> None:
    source, out = questions(tmp_path, repo, LINES)
    work = [str(source), "--out", str(out), "--concurrency", "1"]

    def submit(*more: str) -> str:
        done = jobs.submit("batch", *more, *work)
        assert done.status == 0, done.err
        return done.err

    told = submit("--no-follow")
    assert "is submitted" in told
    job = told.split()[1]
    assert "is under way already" in submit("--no-follow")
    wait_until(lambda: some_answers(out), timeout_s=240)
    stopped = jobs.jeeves.run("submit", "stop", job, "--address", jobs.head.address)
    assert stopped.out == f"job {job} is being stopped\n"
    wait_until(lambda: "STOPPED" in jobs.listed(), timeout_s=60)
    kept = out.read_text().splitlines()
    assert 2 <= len(kept) < LINES
    assert "succeeded" in submit()
    assert each_once(out, kept, LINES)


def test_a_plain_ray_job_is_stopped_half_way_and_goes_on_when_it_is_submitted_again(
    jobs: Jobs, repo: Path, tmp_path: Path
) -> None:
    source, out = questions(tmp_path, repo, LINES)
    work = ("--", sys.executable, "-m", "serve.jobs.batch", str(source), "--out", str(out), "--concurrency", "1")
    first = jobs.submit_plainly("--no-wait", "--submission-id", "first", *work)
    assert first.returncode == 0, first.stderr
    wait_until(lambda: some_answers(out), timeout_s=240)
    assert jobs.plainly("stop", "first").returncode == 0
    kept = out.read_text().splitlines()
    assert 2 <= len(kept) < LINES
    again = jobs.submit_plainly(*work)
    assert again.returncode == 0, again.stdout + again.stderr
    assert each_once(out, kept, LINES)


def test_a_fix_is_one_whether_it_is_submitted_by_jeeves_or_as_a_plain_ray_job(jobs: Jobs, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "box.py").write_text(UNUSED)
    (project / "test_box.py").write_text(TESTS)
    git(project, "init", "-q", "-b", "main")
    git(project, "config", "user.name", WHO.name)
    git(project, "config", "user.email", WHO.email)
    git(project, "add", "-A")
    git(project, "commit", "-qm", "first")
    options = ("--repo", str(project), "--select", "F401", "--json")
    done = jobs.submit("fix", "--name", "nightly-17", *options)
    assert done.status == 0, done.out + done.err
    assert '"ending":"fixed"' in done.out.replace(" ", "")
    branches = git(project, "branch", "--format=%(refname:short)").split()
    heads = [git(project, "rev-parse", branch) for branch in branches]
    assert len(branches) == 2
    module = (sys.executable, "-m", "serve.jobs.fix", "--id", "nightly-17", *options)
    again = jobs.submit_plainly("--", *module)
    assert again.returncode == 0, again.stdout + again.stderr
    assert [git(project, "rev-parse", branch) for branch in branches] == heads
    assert git(project, "branch", "--format=%(refname:short)").split() == branches


def test_a_job_that_cannot_work_ends_with_the_words_and_the_status_of_its_command(
    jobs: Jobs, repo: Path, tmp_path: Path
) -> None:
    source, out = questions(tmp_path, repo, 1)
    source.unlink()
    gone = jobs.submit("batch", str(source), "--out", str(out))
    assert gone.status == 2
    assert str(source) in gone.out and "Traceback" not in gone.out + gone.err
    assert "exit code 2\n" in gone.err


def test_whoever_follows_a_job_whose_head_node_dies_is_told(jobs: Jobs, repo: Path, tmp_path: Path) -> None:
    source, out = questions(tmp_path, repo, LINES)
    submitted = jobs.submit("batch", "--no-follow", str(source), "--out", str(out), "--concurrency", "1")
    job = submitted.err.split()[1]
    follows = jobs.jeeves.start("submit", "follow", job, "--address", jobs.head.address)
    wait_until(lambda: some_answers(out), timeout_s=240)
    os.killpg(jobs.head.pid, signal.SIGKILL)
    _, err = follows.communicate(timeout=60)
    assert follows.returncode == 1
    assert "the job API of the Ray cluster failed" in err and "Traceback" not in err
