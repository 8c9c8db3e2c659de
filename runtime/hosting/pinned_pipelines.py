"""Selects the rules of runs: the current ones for a new run, and for any other those it started under."""

from __future__ import annotations

from collections.abc import Mapping

from runtime.errors import SettingsError, UnknownNameError
from runtime.pipeline.config import PipelineConfig
from runtime.pipeline.pipeline_versions import decode_pipeline, encode_pipeline, incompatibility, with_current_placement
from runtime.store.run_records import RunLog
from runtime.supervision.events import RunRequested


class PinnedPipelines:
    """Finds current pipelines by name, and earlier versions by hash in the log."""

    def __init__(self, pipelines: Mapping[str, PipelineConfig], run_log: RunLog) -> None:
        self._today = dict(pipelines)
        self._log = run_log
        self._kept: set[str] = set()

    def today(self, pipeline: str) -> PipelineConfig:
        """Return the current pipeline of that name. Raises UnknownNameError."""
        config = self._today.get(pipeline)
        if config is None:
            known = sorted(self._today)
            raise UnknownNameError(
                f"no pipeline is named '{pipeline}'; known: {', '.join(known)}", name=pipeline, known=known
            )
        return config

    def keep(self, config: PipelineConfig) -> None:
        """Store the rules in the log, once, before a run starts under them. Raises StateStorageError."""
        if config.config_hash not in self._kept:
            self._log.keep_rules(config.config_hash, encode_pipeline(config))
            self._kept.add(config.config_hash)

    def to_go_on(self, first: RunRequested, what: str) -> PipelineConfig:
        """Return the rules under which the run that started with `first` continues, with the current agents.

        `what` completes "pipeline 'p' has changed since …" in the SettingsError that is raised if it cannot. Raises
        UnknownNameError if the pipeline no longer exists.
        """
        current = self.today(first.request.pipeline)
        if _is_of(first, current):
            return current
        since = f"pipeline '{current.name}' has changed since {what}"
        pinned = self._pinned(first)
        if pinned is None:
            raise SettingsError(f"{since}: the rules that it began under were not kept")
        lack = incompatibility(pinned, current)
        if lack is not None:
            raise SettingsError(f"{since}: {lack}")
        return with_current_placement(pinned, current)

    def to_read(self, first: RunRequested) -> PipelineConfig | None:
        """Return the rules that the run started under, even if it cannot continue; None if they were not stored.

        Raises SettingsError if this version cannot read them.
        """
        current = self._today.get(first.request.pipeline)
        return current if current is not None and _is_of(first, current) else self._pinned(first)

    def _pinned(self, first: RunRequested) -> PipelineConfig | None:
        rules = self._log.rules(first.config_hash) if first.config_hash else None
        return None if rules is None else decode_pipeline(rules, first.config_hash)


def _is_of(first: RunRequested, config: PipelineConfig) -> bool:
    return first.config_hash in ("", config.config_hash)
