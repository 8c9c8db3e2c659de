"""Passes the log settings of a driver on to the processes of its job, as metadata of the Ray job.

They reach actors on a cluster of our own and on one that was joined, replicas of Ray Serve, and processes that Ray
starts in place of dead ones. Records go to the standard error of the worker, which Ray keeps in its session folder.
"""

from __future__ import annotations

import logging
import os
from typing import Any

import msgspec
from ray._private.worker import global_worker
from ray.job_config import JobConfig

from runtime.primitives.structured_logs import LogOptions, configure_logs, configured_logs

KEY = "jeeves.logging"

log = logging.getLogger(__name__)


def pass_on_log_options(job_config: JobConfig) -> None:
    """Put the log options of this process into the job that it is about to start."""
    job_config.set_metadata(KEY, msgspec.json.encode(configured_logs()).decode())


def configure_actor_logs(process: str) -> None:
    """Configure the logs of this worker process as its job says."""
    worker: Any = global_worker  # `core_worker` is declared nowhere
    told = dict(worker.core_worker.get_job_config().metadata).get(KEY) if worker.connected else None
    configure_logs(LogOptions() if told is None else msgspec.json.decode(told, type=LogOptions), process)
    log.info("process.started", extra={"pid": os.getpid()})
