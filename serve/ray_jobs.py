"""Submits work to a Ray cluster as jobs, finds those that are under way, and follows their logs.

A job has a name, which follows from its arguments, and each of its submissions a number: Ray never takes the id of a
submission twice. A name that is under way is followed instead of submitted again.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
import time
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from runtime.errors import ClusterError, InputError, UnknownNameError

if TYPE_CHECKING:
    from ray.job_submission import JobDetails, JobSubmissionClient

T = TypeVar("T")

NAME = re.compile(r"[a-z][a-z0-9-]{0,62}")
NAME_KEY, KIND_KEY = "jeeves.name", "jeeves.kind"
TRIES = 3
# A node that has just started answers before it can run jobs. Ray's job API waits for that as well, for ten seconds.
WAITS_FOR_AGENT, AGENT_AWAITED_FOR_S = 5, 2.0
_NO_AGENT = "No available agent"

log = logging.getLogger(__name__)


class Submission(msgspec.Struct, frozen=True):
    """Describes one submission of a job; `exit_status` is that of its driver once it has ended by itself."""

    id: str
    name: str
    status: str
    message: str = ""
    exit_status: int | None = None
    started_at_ms: int = 0

    @property
    def is_over(self) -> bool:
        """True if the job has ended."""
        return self.status in ("SUCCEEDED", "FAILED", "STOPPED")

    @property
    def number(self) -> int:
        """The number of the submission, counted from 1."""
        return int(self.id.rpartition("-")[2])


class RayJobs:
    """Submits and follows jobs of one cluster."""

    def __init__(self, address: str | None, pause: Callable[[float], None] = time.sleep) -> None:
        """Connect to the job API at `address`, or where the environment says. Raises ClusterError.

        `pause`: waits for so many seconds before a cluster that takes no jobs yet is asked again.
        """
        self._pause = pause
        self._client: JobSubmissionClient = _called(lambda: _client_of(address))

    def submit(self, kind: str, name: str, entrypoint: str, variables: dict[str, str]) -> tuple[Submission, bool]:
        """Submit a job, and return it and True; if one of that name is under way, return that one and False.

        Raises ClusterError.
        """
        metadata = {NAME_KEY: name, KIND_KEY: kind}
        fault: ClusterError | None = None
        for _ in range(TRIES):
            known = self.of_name(name)
            if known and not known[-1].is_over:
                return known[-1], False
            submission_id = f"{name}-{known[-1].number + 1 if known else 1}"
            try:
                self._begin(
                    entrypoint=entrypoint,
                    submission_id=submission_id,
                    runtime_env={"env_vars": variables},
                    metadata=metadata,
                )
            except ClusterError as error:
                if _NO_AGENT in error.message:
                    raise
                # Another process may have submitted it a moment ago: then it is under way.
                fault = error
                continue
            return self.of(submission_id), True
        raise fault or ClusterError(f"job {name} could not be submitted", job=name)

    def _begin(self, **job: Any) -> None:
        """Submit a job, once the cluster takes jobs. Raises ClusterError."""
        for waits_left in range(WAITS_FOR_AGENT, -1, -1):
            try:
                _called(lambda: self._client.submit_job(**job))
            except ClusterError as error:
                if _NO_AGENT not in error.message or waits_left == 0:
                    raise
                self._pause(AGENT_AWAITED_FOR_S)
            else:
                return

    def all(self) -> list[Submission]:
        """Return the submissions of all jobs of Jeeves, oldest first. Raises ClusterError."""
        jobs = [each for each in _called(self._client.list_jobs) if (each.metadata or {}).get(NAME_KEY)]
        return sorted((_as_submission(each) for each in jobs), key=lambda each: (each.started_at_ms, each.number))

    def of_name(self, name: str) -> list[Submission]:
        """Return the submissions of a job in their order. Raises ClusterError."""
        return sorted((each for each in self.all() if each.name == name), key=lambda each: each.number)

    def newest(self, name: str) -> Submission:
        """Return the last submission of a job, or the one with that id. Raises UnknownNameError and ClusterError."""
        found = [each for each in self.all() if name in (each.name, each.id)]
        if not found:
            raise UnknownNameError(f"no job is named '{name}'; `jeeves submit list` lists them", name=name)
        return max(found, key=lambda each: each.number)

    def of(self, submission_id: str) -> Submission:
        """Return a submission as it is now. Raises ClusterError."""
        return _as_submission(_called(lambda: self._client.get_job_info(submission_id)))

    def stop(self, submission_id: str) -> bool:
        """Stop a job, and return whether it was under way. Raises ClusterError."""
        return _called(lambda: self._client.stop_job(submission_id))

    async def log_lines(self, submission_id: str) -> AsyncIterator[str]:
        """Yield the log of a job from its beginning to its end, in pieces as they come. Raises ClusterError."""
        try:
            async for piece in self._client.tail_job_logs(submission_id):
                yield piece
        except (RuntimeError, OSError) as error:
            raise _fault(error) from error


def job_name(kind: str, folder: Path, arguments: Sequence[str]) -> str:
    """Return the name of the job with these arguments in a folder: the same whenever it is submitted."""
    told = json.dumps([kind, str(folder), *arguments]).encode()
    return f"{kind}-{hashlib.sha256(told).hexdigest()[:12]}"


def check_name(name: str) -> str:
    """Return the name of a job. Raises InputError."""
    if NAME.fullmatch(name) is None:
        told = f"a job is named with lower-case letters, digits and dashes, at most 63, not {name[:80]!r}"
        raise InputError(told)
    return name


def _client_of(address: str | None) -> JobSubmissionClient:
    from ray.job_submission import JobSubmissionClient

    # It would tell on standard error of each connection that ends.
    logging.getLogger("ray.dashboard.modules.job.sdk").setLevel(logging.ERROR)
    return JobSubmissionClient(address)


def _called(call: Callable[[], T]) -> T:
    """Return what a call of the job API returns. Raises ClusterError in the place of its errors."""
    from ray.exceptions import RayError

    try:
        return call()
    except (RayError, RuntimeError, OSError, ValueError) as error:  # those of connections are OSErrors
        raise _fault(error) from error


def _fault(error: Exception) -> ClusterError:
    text = str(error)
    if "pip install" in text:
        return ClusterError(f"jobs need the job API of Ray: pip install 'ray[default]' ({_first(text)})")
    if "uthentication" in text:
        told = "the Ray cluster wants a token: set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN_PATH if it is not yours"
        return ClusterError(f"{told} ({_first(text)})")
    if _NO_AGENT in text:
        told = (
            "the Ray cluster answers, but no node of it takes jobs; `ray status` on the head, and dashboard_agent.log"
        )
        return ClusterError(f"{told} in /tmp/ray/session_latest/logs, tell why ({_first(text)})")
    return ClusterError(
        f"the job API of the Ray cluster failed: {_first(text)}; --address names it (http://HOST:8265), and the cluster"
        " needs its dashboard (`ray start --head`)"
    )


def _first(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "no reason given")[:300]


def _as_submission(details: JobDetails) -> Submission:
    told: dict[str, Any] = details.metadata or {}
    return Submission(
        str(details.submission_id),
        told.get(NAME_KEY, ""),
        str(details.status.value),
        details.message or "",
        details.driver_exit_code,
        details.start_time or 0,
    )
