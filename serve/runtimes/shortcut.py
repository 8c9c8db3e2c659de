"""Finds the warm system whose settings a command would have, without reading them.

Reading settings takes longer than the answer of a small question. What they are read from says as well whether they are
those of a system: it told a digest of that as it came up. In any doubt there is no shortcut, and settings are read.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from actors.origin import code_stamp
from runtime.errors import JeevesError
from runtime.primitives.settings_sources import sources_digest, state_dir_in
from serve.runtimes.warm import Shortcut, WarmRecord, WarmRuntime, records_in


def sources_told(config: Path | None, system: str | None) -> str:
    """Return the digest of what settings are read from, for a system that comes up; empty if it cannot be read."""
    try:
        return sources_digest(config, system, os.environ)
    except (OSError, RuntimeError):
        return ""  # the settings tell what is wrong


def find_shortcut(
    config: Path | None, system: str | None, env: Mapping[str, str]
) -> tuple[WarmRuntime, Shortcut] | None:
    """Return a live warm system that has the settings and the code of this command; None if that is not sure."""
    try:
        record = _same_settings(state_dir_in(env), sources_digest(config, system, env))
        if record is None or record.shortcut is None or record.shortcut.code_stamp != code_stamp():
            return None
    except (OSError, RuntimeError, ValueError, JeevesError):
        return None  # reading the settings, or the record again, tells what is wrong
    return WarmRuntime(record, record.code_version), record.shortcut


def _same_settings(state_dir: Path, sources: str) -> WarmRecord | None:
    records = (record for _, record in records_in(state_dir))
    return next((record for record in records if record.shortcut and record.shortcut.sources == sources), None)
