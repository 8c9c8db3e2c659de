"""Two hundred sessions in one host, ten at work at once: memory, and the first call after a session left memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

MAX_MB = 1_000
MAX_RETURN_MS = 300
MAX_SUBMIT_MS = 50


@pytest.mark.long
@pytest.mark.timeout(300)
def test_two_hundred_sessions_fit_into_a_gigabyte_and_come_back_at_once(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.capabilities.code_change.capacity", str(tmp_path), "200", "10"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[3])
    told = json.loads(done.stdout)
    assert told["in_memory"] == 200
    assert told["peak_at_work_mb"] < MAX_MB, told
    assert told["first_call_after_passivation_p50_ms"] < MAX_RETURN_MS, told
    assert told["submit_without_git_p50_ms"] < MAX_SUBMIT_MS, told
