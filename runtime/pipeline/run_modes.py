"""Checks the run mode that a request names; `PipelineConfig.in_run_mode` applies it."""

from __future__ import annotations

from runtime.errors import InputError
from runtime.pipeline.config import PipelineConfig
from runtime.pipeline.pipeline_validation import problems_of
from runtime.pipeline.run_terms import RunMode


def check_run_mode(config: PipelineConfig, mode: RunMode | None) -> None:
    """Check that a run of the pipeline can be `mode`. Raises InputError that lists what stands against it."""
    if mode is None or mode == config.default_run_mode:
        return
    problems = [f"{_key(path)}: {problem}" for path, problem in problems_of(config.in_run_mode(mode))]
    if problems:
        raise InputError(
            f"run_mode: the pipeline '{config.name}' cannot run {mode}: {'; '.join(problems)};"
            f" leave run_mode out, or ask for {config.default_run_mode}",
            run_mode=mode,
            pipeline=config.name,
            problems=problems,
        )


def _key(path: tuple[str | int, ...]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")
