"""Opens the hosts of this process, one for each pipeline that is asked for, without Ray."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack

from runtime.codebase.index.service import IndexService
from runtime.primitives.ids import RunId
from runtime.settings import Settings, open_state_dir
from serve.library.hosted_backend import RunHost
from serve.pipeline_files import load_named_pipeline
from serve.run_logs import log_to_go_on_with
from serve.runtimes.local_host import LocalHost
from serve.wiring import index_service


class LocalHosts:
    """Drives runs in this process until it is closed."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._index: IndexService | None = None
        self._by_pipeline: dict[str, LocalHost] = {}
        self._taken_over: list[LocalHost] = []
        self._logs = ExitStack()

    async def of_pipeline(self, pipeline: str) -> RunHost:
        host = self._by_pipeline.get(pipeline)
        if host is None:
            config = load_named_pipeline(self._settings, pipeline)
            host = self._by_pipeline[pipeline] = LocalHost.open(self._settings, config, self._indexes())
        return host

    def opened(self) -> list[RunHost]:
        return [*self._by_pipeline.values(), *self._taken_over]

    async def take_over(self, run_id: RunId, pipeline: str) -> RunHost:
        """Continue a run from its log. Raises OwnedError if a live process drives it."""
        config = load_named_pipeline(self._settings, pipeline)
        owner = await asyncio.to_thread(self._logs.enter_context, log_to_go_on_with(self._settings, run_id))
        host = LocalHost.open(self._settings, config, self._indexes(), owner)
        self._taken_over.append(host)
        await host.runner.resume(run_id)
        return host

    async def close(self) -> None:
        """Close the hosts, and with them the logs that they own."""
        try:
            for host in (*self._by_pipeline.values(), *self._taken_over):
                await host.close()
        finally:
            self._logs.close()
            if self._index is not None:
                self._index.close()

    def _indexes(self) -> IndexService:
        if self._index is None:
            open_state_dir(self._settings.state_dir)
            self._index = index_service(self._settings)
            self._index.prepare()
        return self._index
