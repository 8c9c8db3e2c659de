"""Which runtime answers: the warm system that is up, else one that is started for the occasion."""

from __future__ import annotations

from runtime.settings import Settings, open_state_dir
from serve.asking import AskRuntime, LocalRuntime
from serve.documents import Ask
from serve.wiring import load_named_pipeline


async def open_runtime(settings: Settings, asked: Ask) -> AskRuntime:
    """A runtime for the pipeline that `asked` names."""
    open_state_dir(settings.state_dir)
    pipeline = load_named_pipeline(settings, asked.pipeline)
    return LocalRuntime(settings, pipeline)
