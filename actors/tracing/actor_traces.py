"""Passes the trace options of a driver on to the processes of its job, as metadata of the Ray job."""

from __future__ import annotations

from typing import Any

import msgspec
from ray._private.worker import global_worker
from ray.job_config import JobConfig

from actors.tracing.trace_export import TraceOptions, export_traces, trace_options

KEY = "jeeves.traces"


def pass_on_trace_options(job_config: JobConfig) -> None:
    """Put the trace options of this process into the job that it is about to start."""
    options = trace_options()
    if options.endpoint is not None:
        job_config.set_metadata(KEY, msgspec.json.encode(options).decode())


def export_actor_traces(process: str) -> None:
    """Export the spans of this worker process as its job says."""
    worker: Any = global_worker  # `core_worker` is declared nowhere
    told = dict(worker.core_worker.get_job_config().metadata).get(KEY) if worker.connected else None
    if told is not None:
        export_traces(msgspec.json.decode(told, type=TraceOptions), process)
