"""Log records: every field, the run and stage they belong to, and nothing that a terminal would execute."""

from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path

import pytest

from runtime.primitives.structured_logs import (
    MAX_FILE_BYTES,
    JsonFormatter,
    LogFile,
    LogOptions,
    OwnStreamHandler,
    TextFormatter,
    configure_logs,
    configured_logs,
    enter_log_scope,
    log_scope,
)

HOSTILE = "\x1b[31m\u202e\u2028\n"


def record(event: str = "stage.failed", **fields: object) -> logging.LogRecord:
    return logging.getLogger("runtime.x").makeRecord("runtime.x", 30, "f", 1, event, (), None, extra=fields)


def test_a_text_line_has_event_run_stage_and_every_field() -> None:
    with log_scope("r-1", "planner"):
        line = TextFormatter("AgentActor").format(record(reason="two words", tries=2, text=HOSTILE))
    assert " WARNING AgentActor runtime.x stage.failed run_id=r-1 stage=planner " in line
    assert 'reason="two words" tries=2' in line
    assert line.isprintable()


def test_a_json_line_has_event_run_stage_and_every_field() -> None:
    with log_scope("r-1", "planner"):
        line = JsonFormatter("bus").format(record(reason=HOSTILE, level="theirs", items=[1], path=Path("/x")))
    assert line.isprintable()
    document = json.loads(line)
    assert document["event"] == "stage.failed"
    assert (document["level"], document["process"], document["logger"]) == ("warning", "bus", "runtime.x")
    assert (document["run_id"], document["stage"], document["reason"]) == ("r-1", "planner", HOSTILE)
    assert (document["items"], document["path"]) == ([1], "/x")


def test_a_field_of_the_record_itself_goes_before_the_scope() -> None:
    with log_scope("r-1", "planner"):
        assert json.loads(JsonFormatter("bus").format(record(run_id="r-2")))["run_id"] == "r-2"
    assert "run_id" not in json.loads(JsonFormatter("bus").format(record()))


def test_an_exception_is_a_field_in_json_and_follows_the_line_in_text() -> None:
    try:
        raise ValueError(HOSTILE)
    except ValueError as error:
        failed = record()
        failed.exc_info = (ValueError, error, error.__traceback__)
    assert "ValueError" in json.loads(JsonFormatter("x").format(failed))["exception"]
    text = TextFormatter("x").format(failed)
    assert "Traceback" in text
    assert "\x1b" not in text
    assert "\u2028" not in text


def test_tasks_belong_to_the_run_in_which_they_were_started() -> None:
    async def line() -> str:
        await asyncio.sleep(0)
        return TextFormatter("x").format(record())

    async def both() -> list[str]:
        enter_log_scope("r-1")
        first = asyncio.create_task(line())
        enter_log_scope("r-2")
        return [await first, await asyncio.create_task(line())]

    first, second = asyncio.run(both())
    assert "run_id=r-1" in first
    assert "run_id=r-2" in second


def test_the_level_holds_for_our_packages_and_configuring_again_replaces(tmp_path: Path) -> None:
    root = logging.getLogger()
    before = list(root.handlers)
    try:
        for level in ("debug", "error"):
            configure_logs(LogOptions(level, "json"), "x", tmp_path / "logs" / "x.log")
            logging.getLogger("runtime.x").warning(f"at.{level}", extra={"count": 1})
        assert configured_logs() == LogOptions("error", "json")
        lines = [json.loads(line) for line in (tmp_path / "logs" / "x.log").read_text().splitlines()]
        assert [(line["event"], line["count"]) for line in lines] == [("at.debug", 1)]
    finally:
        configure_logs(LogOptions("warning"), "tests")
        for handler in [each for each in root.handlers if each not in before]:
            root.removeHandler(handler)
        assert not [each for each in root.handlers if isinstance(each, OwnStreamHandler | LogFile)]
        for package in ("runtime", "actors", "serve"):
            logging.getLogger(package).setLevel(logging.NOTSET)


@pytest.mark.parametrize(("size", "rolled"), [(MAX_FILE_BYTES, False), (MAX_FILE_BYTES + 1, True)])
def test_a_log_file_that_is_too_large_is_put_aside(tmp_path: Path, size: int, rolled: bool) -> None:
    path = tmp_path / "x.log"
    path.write_bytes(b"x" * size)
    handler = LogFile(path)
    handler.setFormatter(TextFormatter("x"))
    handler.emit(record())
    assert (tmp_path / "x.log.1").exists() == rolled


def test_a_log_file_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("no folder")
    handler = LogFile(tmp_path / "logs" / "x.log")
    handler.setFormatter(TextFormatter("x"))
    handler.emit(record())
