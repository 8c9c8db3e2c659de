"""Selects the runtime that answers: the warm system if it fits, else one started for the command."""

from __future__ import annotations

from actors.origin import code_version
from runtime.settings import Settings, open_state_dir
from serve.pipeline_files import load_named_pipeline, warm_pipeline_names
from serve.runtimes.answering import AskRuntime
from serve.runtimes.warm import WarmRuntime, read_record, settings_digest


async def open_runtime(settings: Settings, pipeline_name: str) -> AskRuntime:
    """Return a runtime for one pipeline. A warm system with other settings, or without that pipeline, is not used."""
    # What a runtime is made of is imported where it is opened: a warm question must pay neither for Ray nor the index.
    open_state_dir(settings.state_dir)
    pipeline = load_named_pipeline(settings, pipeline_name)
    if settings.ray.mode == "in_process":
        from serve.runtimes.local import LocalRuntime

        return LocalRuntime(settings, pipeline)
    record = read_record(settings)
    is_ready = record is not None and record.settings_digest == settings_digest(settings)
    if record is not None and is_ready and pipeline_name in warm_pipeline_names(settings):
        return WarmRuntime(record, code_version())
    from serve.runtimes.ray_runtime import guest_runtime, start_runtime

    if settings.ray.mode == "attach" and pipeline_name in warm_pipeline_names(settings):
        guest = await guest_runtime(settings)
        if guest is not None:
            return guest
    return start_runtime(settings, [pipeline])
