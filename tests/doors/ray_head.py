"""A head node with the job API, as `ray start --head` makes it, on free ports and in a folder of its own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from tests.doors.program import wait_until
from tests.free_ports import free_port


class RayHead:
    """A node in the background; a context manager. `options`: further ones of `ray start`."""

    def __init__(self, environment: Mapping[str, str], *options: str) -> None:
        # Not below pytest's folders: the names of Ray's sockets would be too long.
        self._folder = Path(tempfile.mkdtemp(prefix="jeeves-ray-"))
        self._options = options
        self.port, self.gcs_port = free_port(), free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self.environment = {**environment, "RAY_AUTH_MODE": "disabled"}

    def __enter__(self) -> RayHead:
        command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block", "--disable-usage-stats"]
        ports = ["--port", str(self.gcs_port), "--dashboard-port", str(self.port), "--dashboard-host", "127.0.0.1"]
        sizes = ["--num-cpus", "2", "--object-store-memory", "100000000", "--temp-dir", str(self._folder)]
        with (self._folder / "ray.log").open("wb") as log:
            self._head = subprocess.Popen(
                [*command, *ports, *sizes, *self._options],
                stdout=log, stderr=log, env=self.environment, start_new_session=True,
            )  # fmt: skip
        wait_until(self._answers, timeout_s=120)
        return self

    @property
    def pid(self) -> int:
        """The process that started all others of the node."""
        return self._head.pid

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.address}/api/version", timeout=5):
                return True
        except OSError:
            return False

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.killpg(self._head.pid, signal.SIGTERM)
        try:
            self._head.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(self._head.pid, signal.SIGKILL)
            self._head.wait()
        shutil.rmtree(self._folder, ignore_errors=True)
