"""Keeps baselines in the state folder by what they depend on, so that the same tests do not run twice on one commit.

    fixes/baselines/KEY.json     a baseline that came to its end

A key names the repository, the commit, the files, and how and by which interpreter tests run, with the packages that it
has installed. Baselines are used for a day: tests may depend on what no key names.
"""

from __future__ import annotations

import hashlib
import json
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from actors.capabilities.violation_fix.verification.verdicts import Baseline, load_baseline, save_baseline
from serve.batch.fix_record import FixPlan

MAX_AGE_S = 24 * 3600.0
MAX_KEPT = 20


class KeptBaselines:
    """Reads and writes the baselines below one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, plan: FixPlan) -> tuple[Baseline, int] | None:
        """Return the baseline of a plan and when it was taken, in milliseconds; None if there is none of this day."""
        file = self._file_of(plan)
        with suppress(FileNotFoundError):
            taken_s = file.stat().st_mtime
            if time.time() - taken_s < MAX_AGE_S:
                return load_baseline(file), int(taken_s * 1000)
        return None

    def keep(self, plan: FixPlan, baseline: Baseline) -> None:
        """Keep a baseline whose tests came to their end, and forget the oldest ones."""
        if not baseline.is_complete:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        save_baseline(baseline, self._file_of(plan))
        known = sorted(self._folder.glob("*.json"), key=lambda file: file.stat().st_mtime)
        for file in known[:-MAX_KEPT]:
            file.unlink(missing_ok=True)

    def _file_of(self, plan: FixPlan) -> Path:
        first = plan.requests[0]
        setup: dict[str, Any] = first["setup"]
        depends_on = {
            "repository": plan.repository,
            "commit": plan.base_commit,
            "files": sorted({request["violation"]["path"] for request in plan.requests}),
            "setup": {key: value for key, value in setup.items() if key != "told"},
            "options": first["options"],
            "limits": first["test_limits"],
            "installed": _installed(Path(setup["python"])),
        }
        text = json.dumps(depends_on, sort_keys=True)
        return self._folder / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.json"


def _installed(python: Path) -> list[int]:
    """Return when packages were last installed for an interpreter."""
    folders = sorted(python.parent.parent.glob("lib/python*/site-packages"))
    return [folder.stat().st_mtime_ns for folder in folders]
