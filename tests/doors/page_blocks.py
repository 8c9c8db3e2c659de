"""Runs the shell blocks of a page as they stand, but for names of places that only the machines of its readers have."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.doors.program import JEEVES, TREE, wait_until

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 240.0

_BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def shell_blocks(page: str) -> list[str]:
    """The shell blocks of a page below docs, in their order."""
    return _BLOCK.findall((ROOT / "docs" / page).read_text(encoding="utf-8"))


class PageShell:
    """A shell in a folder. `places`: what stands there for each place that a page names, the first that fits."""

    def __init__(self, folder: Path, places: Mapping[str, str], **env: str) -> None:
        self.folder = folder
        self.places = dict(places)
        self.env = {**os.environ, **TREE, "NO_PROXY": "127.0.0.1", **env}
        self.env["PATH"] = f"{JEEVES.parent}{os.pathsep}{self.env['PATH']}"

    def here(self, text: str) -> str:
        """A text of a page with the places of this shell."""
        for place, own in self.places.items():
            text = text.replace(place, own)
        return text

    def run(self, block: str, timeout_s: float = PATIENCE_S, **env: str) -> str:
        """What a block prints to its end, which must be that of its success."""
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", f"exec 2>&1\n{self.here(block)}"],
            cwd=self.folder,
            env={**self.env, **env},
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    @contextmanager
    def up(self, block: str, says: str, timeout_s: float = PATIENCE_S, **env: str) -> Iterator[Path]:
        """Start a block whose last command stays, once it says that; the file of its output. Ends it by SIGTERM."""
        log = self.folder / f"shell-{len(list(self.folder.glob('shell-*.log')))}.log"
        with log.open("wb") as out:
            process = subprocess.Popen(
                ["bash", "-euo", "pipefail", "-c", self.here(block)],
                cwd=self.folder, env={**self.env, **env}, stdout=out, stderr=out, stdin=subprocess.DEVNULL,
                start_new_session=True,
            )  # fmt: skip

        def says_so() -> bool:
            told = log.read_text(encoding="utf-8")
            assert process.poll() is None, told
            return says in told

        try:
            wait_until(says_so, timeout_s)
            yield log
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
