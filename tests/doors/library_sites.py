"""The three doors of the library over one and the same set of runs: in this process, over a socket, over HTTP."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

from actors.origin import code_version
from runtime.codebase.index.progress import Progress
from runtime.errors import RunStateError
from runtime.primitives.ids import RunId
from runtime.settings import Settings, load_settings
from serve.library.backend import Backend
from serve.library.hosted_backend import HostedBackend, RunHost
from serve.library.http_backend import HttpBackend
from serve.library.jeeves import Jeeves
from serve.library.warm_backend import WarmBackend
from serve.principals import at_terminal
from serve.runtimes.daemon import Door
from serve.runtimes.ray_runtime import RayRuntime
from serve.runtimes.warm import MAX_LINE_BYTES, WarmRecord, WarmRuntime
from tests.doors.http_site import Site, open_site

SAMPLE = """
name: sample
capability: sample
agents:
  - {name: look, stage_order: 10, default_next: integration}
  - {name: integration, stage_order: 20}
"""
RETRY_AFTER_S = (0.01,) * 5
USER_ID = "user:ada"
"""The user in this process: whoever runs the tests may be root, who controls all runs."""


class LibrarySite:
    """A door with the runs behind it. `name`: in_process, warm or http."""

    def __init__(self, name: str, site: Site, backend: Backend) -> None:
        self.name = name
        self.site = site
        self.backend = backend
        self.jeeves = jeeves_of(backend)


def jeeves_of(backend: Backend) -> Jeeves:
    """A library over a backend."""

    async def opened() -> Backend:
        return backend

    return Jeeves(opened)


class SiteHosts:
    """Drives all runs by the site."""

    def __init__(self, site: Any) -> None:
        self._site = site

    async def of_pipeline(self, pipeline: str) -> RunHost:
        host: RunHost = self._site
        return host

    def opened(self) -> list[RunHost]:
        return [self._site]

    async def take_over(self, run_id: RunId, pipeline: str) -> RunHost:
        raise RunStateError(f"run {run_id} is driven elsewhere", run_id=run_id)

    async def close(self) -> None:
        """Close nothing: the site ends by itself."""


class System:
    """A site with the calls that only a system of actors has."""

    def __init__(self, site: Site) -> None:
        self._site = site

    def __getattr__(self, name: str) -> Any:
        return getattr(self._site, name)

    async def index_progress(self, root: str) -> Progress:
        """How far the index is."""
        return Progress()


def settings_of(site: Site, folder: Path) -> Settings:
    """Settings whose store is that of a site, and which know its pipeline."""
    file = folder / "configs" / "pipelines" / "sample.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(SAMPLE, encoding="utf-8")
    told = folder / "library.yaml"
    told.write_text(
        f"state_dir: {site.store.folder}\nconfig_dir: {folder / 'configs'}\ndefault_pipeline: sample\n"
        f"limits: {{max_question_chars: {site.service.spec.max_question_chars}}}\n",
        encoding="utf-8",
    )
    return load_settings(told, {})


@asynccontextmanager
async def in_process(site: Site, folder: Path) -> AsyncIterator[Backend]:
    """The door in this process."""
    yield HostedBackend(settings_of(site, folder), USER_ID, SiteHosts(System(site)))


@asynccontextmanager
async def warm(site: Site, folder: Path) -> AsyncIterator[Backend]:
    """The door to a warm system, over its real socket."""
    system: Any = System(site)
    path = folder / "warm.sock"
    record = WarmRecord(os.getpid(), str(path), code_version(), "", "", 0)
    door = Door(RayRuntime(system, "rules", None), record)
    server = await asyncio.start_unix_server(door.socket.serve, str(path), limit=MAX_LINE_BYTES)
    try:
        yield WarmBackend(settings_of(site, folder), at_terminal().user_id, WarmRuntime(record, code_version()))
    finally:
        server.close()


@asynccontextmanager
async def http(site: Site, _folder: Path) -> AsyncIterator[Backend]:
    """The door to the service, over real connections."""
    backend = HttpBackend(f"http://127.0.0.1:{site.port}", retry_after_s=RETRY_AFTER_S)
    try:
        yield backend
    finally:
        await backend.close()


DOORS: dict[str, Callable[[Site, Path], AbstractAsyncContextManager[Backend]]] = {
    "in_process": in_process,
    "warm": warm,
    "http": http,
}


@asynccontextmanager
async def open_library(name: str, folder: Path, **told: Any) -> AsyncIterator[LibrarySite]:
    """A door of that name over a site of its own; `told`: what `open_site` takes."""
    async with open_site(folder / "state", **told) as site, DOORS[name](site, folder) as backend:
        yield LibrarySite(name, site, backend)


async def cancelled(task: asyncio.Task[Any]) -> None:
    """Cancel a task, and wait for its end."""
    task.cancel()
    await asyncio.wait({task})
    assert task.cancelled()
