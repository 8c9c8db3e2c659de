"""Commands log with run and stage, at the level and in the format of the settings, and never to standard output."""

from __future__ import annotations

import json
from pathlib import Path

from tests.doors.program import Program
from tests.doors.sample_repo import QUESTION


def test_a_run_in_this_process_logs_its_run_and_stages(jeeves: Program, repo: Path) -> None:
    env = {"JEEVES_LOGGING__LEVEL": "debug", "JEEVES_LOGGING__FORMAT": "json"}
    document = jeeves.ask(QUESTION, repo, env=env).answers().document
    lines = [json.loads(line) for line in (jeeves.state_dir / "logs" / "cli.log").read_text().splitlines()]
    ended = [line for line in lines if line["event"] == "stage.succeeded"]
    assert {line["run_id"] for line in ended} == {document["run_id"]}
    assert {"perception", "planner", "integration"} <= {line["stage"] for line in ended}
    assert all(line["process"] == "cli" and line["duration_ms"] >= 0 for line in ended)


def test_the_level_of_the_settings_file_holds(jeeves: Program, repo: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("logging: {level: error}\n")
    jeeves.ask(QUESTION, repo, "--config", str(tmp_path / "mine.yaml")).answers()
    assert not (jeeves.state_dir / "logs").exists()
