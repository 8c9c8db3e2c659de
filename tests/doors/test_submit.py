"""Work is submitted to a Ray cluster as jobs once, however often it is submitted, and goes on where it was stopped."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import ray
from typer.testing import CliRunner, Result

from runtime.errors import ClusterError, InputError, OwnedError, UnknownNameError
from serve.batch.fix_lock import check_fix_id, only_one
from serve.cli.command_table import COMMANDS
from serve.cli.commands.submit import OWN_OPTIONS, app
from serve.jobs.job_environment import join_cluster_of_job
from serve.ray_jobs import AGENT_AWAITED_FOR_S, WAITS_FOR_AGENT, RayJobs, check_name, job_name


class JobServer:
    """The job API of Ray, in this process: jobs run until they are told how to end."""

    def __init__(self) -> None:
        self.jobs: dict[str, dict[str, Any]] = {}
        self.rival: str | None = None
        self.fault: tuple[int, str] | None = None
        self.without_agent = 0
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer(*server.get(self.path))

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                self._answer(*server.post(self.path, json.loads(body or b"{}")))

            def _answer(self, status: int, document: Any) -> None:
                data = document.encode() if isinstance(document, str) else json.dumps(document).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def get(self, path: str) -> tuple[int, Any]:
        if path == "/api/version":
            return 200, {"version": "4", "ray_version": ray.__version__, "ray_commit": "x", "session_name": "s"}
        if self.fault is not None:
            return self.fault
        if path == "/api/jobs/":
            return 200, list(self.jobs.values())
        job = self.jobs.get(path.removeprefix("/api/jobs/"))
        return (404, "no such job") if job is None else (200, job)

    def post(self, path: str, told: dict[str, Any]) -> tuple[int, Any]:
        if path.endswith("/stop"):
            job = self.jobs[path.removeprefix("/api/jobs/").removesuffix("/stop")]
            was_under_way = job["status"] == "RUNNING"
            job["status"] = "STOPPED"
            return 200, {"stopped": was_under_way}
        submission_id = told["submission_id"]
        if self.without_agent > 0:
            self.without_agent -= 1
            return 500, "No available agent to submit job, please try again later."
        if self.rival is not None:
            self.rival = None
            self.add(submission_id, told)
        if submission_id in self.jobs:
            return 500, f"ValueError: Job with submission_id {submission_id} already exists"
        self.add(submission_id, told)
        return 200, {"job_id": submission_id, "submission_id": submission_id}

    def add(self, submission_id: str, told: dict[str, Any]) -> None:
        started = {"type": "SUBMISSION", "status": "RUNNING", "start_time": len(self.jobs) + 1}
        self.jobs[submission_id] = {**told, **started, "submission_id": submission_id}

    def end(self, submission_id: str, status: str) -> None:
        self.jobs[submission_id] |= {"status": status, "message": f"it is {status}", "driver_exit_code": 3}

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def server() -> Iterator[JobServer]:
    started = JobServer()
    yield started
    started.close()


def submitted(server: JobServer, name: str = "batch-1a") -> tuple[str, bool]:
    job, is_new = RayJobs(server.address).submit("batch", name, "echo hello", {"A": "b"})
    return job.id, is_new


def test_a_job_that_is_under_way_is_not_submitted_again_and_one_that_ended_is(server: JobServer) -> None:
    assert submitted(server) == ("batch-1a-1", True)
    assert submitted(server) == ("batch-1a-1", False)
    assert submitted(server, "batch-1a-1") == ("batch-1a-1-1", True)
    for number, status in enumerate(("STOPPED", "FAILED", "SUCCEEDED"), 1):
        server.end(f"batch-1a-{number}", status)
        assert submitted(server) == (f"batch-1a-{number + 1}", True)
    sent = server.jobs["batch-1a-1"]
    assert (sent["entrypoint"], sent["runtime_env"]["env_vars"]) == ("echo hello", {"A": "b"})
    assert sent["metadata"]["jeeves.kind"] == "batch"


def test_of_two_that_submit_at_once_the_second_follows_the_first(server: JobServer) -> None:
    server.rival = "another process"
    assert submitted(server) == ("batch-1a-1", False)
    assert list(server.jobs) == ["batch-1a-1"]


@pytest.mark.parametrize(("refusals", "is_taken"), [(WAITS_FOR_AGENT, True), (WAITS_FOR_AGENT + 1, False)])
def test_a_cluster_that_has_just_started_is_waited_for_until_it_takes_jobs(
    server: JobServer, refusals: int, is_taken: bool
) -> None:
    server.without_agent = refusals
    pauses: list[float] = []
    jobs = RayJobs(server.address, pauses.append)
    if is_taken:
        job, is_new = jobs.submit("batch", "batch-1a", "echo hello", {})
        assert (job.id, is_new) == ("batch-1a-1", True)
    else:
        with pytest.raises(ClusterError, match="no node of it takes jobs"):
            jobs.submit("batch", "batch-1a", "echo hello", {})
        assert not server.jobs
    assert pauses == [AGENT_AWAITED_FOR_S] * WAITS_FOR_AGENT


def test_jobs_of_others_are_left_alone(server: JobServer) -> None:
    server.add("raysubmit_x", {"entrypoint": "sleep 9", "metadata": {"owner": "ann"}})
    server.add("batch-1a-1", {"entrypoint": "sleep 9"})
    submitted(server, "batch-2")
    jobs = RayJobs(server.address)
    assert [each.id for each in jobs.all()] == ["batch-2-1"]
    with pytest.raises(UnknownNameError, match="no job is named 'raysubmit_x'"):
        jobs.newest("raysubmit_x")


def test_the_newest_submission_of_a_name_is_found_by_it_or_by_its_id_and_stopped(server: JobServer) -> None:
    for number in range(1, 12):
        submitted(server)
        if number < 11:
            server.end(f"batch-1a-{number}", "FAILED")
    jobs = RayJobs(server.address)
    assert jobs.newest("batch-1a").id == "batch-1a-11"
    assert jobs.newest("batch-1a-2").exit_status == 3
    assert jobs.stop("batch-1a-11") and jobs.of("batch-1a-11").status == "STOPPED"
    assert not jobs.stop("batch-1a-2")


def test_faults_of_the_job_api_say_what_to_do(server: JobServer) -> None:
    jobs = RayJobs(server.address)
    server.fault = (500, "Traceback: the disk is full")
    with pytest.raises(ClusterError, match="the disk is full"):
        jobs.all()
    server.close()
    with pytest.raises(ClusterError, match="--address names it"):
        RayJobs(server.address)


def test_a_job_has_the_same_name_whenever_it_is_submitted_and_another_elsewhere() -> None:
    named = job_name("batch", Path("/a"), ["in", "--out", "x"])
    assert check_name(named) == named == job_name("batch", Path("/a"), ["in", "--out", "x"])
    others = {job_name("fix", Path("/a"), ["in", "--out", "x"]), job_name("batch", Path("/b"), ["in", "--out", "x"])}
    assert named not in others | {job_name("batch", Path("/a"), ["in", "--out x"])}


@pytest.mark.parametrize("name", ["", "A", "a b", "a;rm", "-a", "é", "a" * 64, "a_b"])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(InputError):
        check_name(name)
    assert check_name("a" * 63)


@pytest.mark.parametrize("fix_id", ["", "../x", "a/b", ".a", "-a", "a b", "a" * 81])
def test_an_id_of_a_fix_that_would_leave_its_folder_is_refused(fix_id: str) -> None:
    with pytest.raises(InputError):
        check_fix_id(fix_id)
    check_fix_id("a" * 80)


def test_one_process_at_a_time_works_on_a_fix(tmp_path: Path) -> None:
    locks = tmp_path / "locks"
    held, another, again = only_one(locks, "one"), only_one(locks, "two"), only_one(locks, "one")
    with held, another, pytest.raises(OwnedError, match="fix one is under way"), again:
        raise AssertionError("two hold the lock")
    with only_one(tmp_path / "locks", "one"):
        pass


def test_the_driver_of_a_job_uses_its_cluster_unless_told_otherwise() -> None:
    environment = {"RAY_ADDRESS": "10.0.0.5:6379"}
    join_cluster_of_job(environment)
    assert environment["JEEVES_RAY__MODE"] == "attach" and environment["JEEVES_RAY__ADDRESS"] == "10.0.0.5:6379"
    chosen = {"RAY_ADDRESS": "10.0.0.5:6379", "JEEVES_RAY__MODE": "in_process"}
    join_cluster_of_job(chosen)
    assert "JEEVES_RAY__ADDRESS" not in chosen
    with pytest.raises(ClusterError, match="RAY_ADDRESS is not set"):
        join_cluster_of_job({})


def test_arguments_reach_the_job_as_they_are_quoted_for_its_shell(server: JobServer) -> None:
    given = ["batch", "--address", server.address, "--folder", "/a b", "--env", "X=1=2", "--no-follow"]
    ended = command(*given, "in; rm -r x.jsonl", "--out", "$HOME", "--mode", "y")
    assert (ended.exit_code, ended.stderr.endswith("-1 is submitted\n")) == (0, True)
    (job,) = server.jobs.values()
    wanted = "cd '/a b' && exec python -P -m serve.jobs.batch 'in; rm -r x.jsonl' --out '$HOME' --mode y"
    assert (job["entrypoint"], job["runtime_env"]["env_vars"]) == (wanted, {"X": "1=2"})
    command("fix", "--address", server.address, "--name", "nightly", "--no-follow", "--repo", ".")
    assert "-m serve.jobs.fix --id nightly --repo ." in server.jobs["nightly-1"]["entrypoint"]
    listed = command("list", "--address", server.address)
    assert [line.split()[1] for line in listed.stdout.splitlines()] == ["RUNNING", "RUNNING"]
    stopped = command("stop", "nightly", "--address", server.address)
    assert stopped.stdout == "job nightly-1 is being stopped\n"


def test_a_job_runs_our_code_whatever_its_folder_has_of_that_name(server: JobServer, tmp_path: Path) -> None:
    for package in ("serve", "runtime"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text("raise SystemExit('foreign code')", encoding="utf-8")
    place = ("--address", server.address, "--folder", str(tmp_path), "--python", sys.executable, "--no-follow")
    for kind in ("batch", "fix"):
        command(kind, *place, "--name", kind, "in.jsonl")
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("RAY_", "JEEVES_"))}
        entrypoint = server.jobs[f"{kind}-1"]["entrypoint"]
        ran = subprocess.run(entrypoint, shell=True, env=environment, capture_output=True, text=True, check=False)
        assert (ran.returncode, "not the driver of a Ray job" in ran.stderr) == (1, True), ran.stderr


def test_a_variable_without_a_value_is_refused_before_anything_is_submitted(server: JobServer) -> None:
    ended = command("batch", "--address", server.address, "--env", "X", "in.jsonl")
    assert isinstance(ended.exception, InputError) and server.jobs == {}


@pytest.mark.parametrize("option", [*sorted(OWN_OPTIONS), "--address=http://127.0.0.1:1"])
def test_an_option_of_submit_behind_the_arguments_of_the_job_is_refused_before_anything_is_submitted(
    server: JobServer, option: str
) -> None:
    ended = command("batch", "--address", server.address, "in.jsonl", "--out", "out.jsonl", option)
    assert isinstance(ended.exception, InputError) and server.jobs == {}
    assert ended.exception.message.startswith(f"{option.partition('=')[0]} is an option of `jeeves submit batch`")


def test_options_that_only_submit_has_are_those_that_neither_batch_nor_fix_has() -> None:
    def options(*path: str) -> set[str]:
        found: Any = next(each for each in COMMANDS if each.name == path[0]).load()
        for name in path[1:]:
            found = found.commands[name]
        return {name for parameter in found.params for name in parameter.opts if name.startswith("--")}

    own = options("submit", "batch") | options("submit", "fix")
    assert own - options("batch") - options("fix") == OWN_OPTIONS


def command(*arguments: str) -> Result:
    """`jeeves submit` in this process."""
    return CliRunner().invoke(app, arguments)
