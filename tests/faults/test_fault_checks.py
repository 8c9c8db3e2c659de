"""The checks of the fault suite find what they are there for, and the command tells of it."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from runtime.primitives.ids import RunId
from runtime.run.envelope import InterruptResponse
from runtime.supervision.events import Event, InterruptAnswered, StageSucceeded
from tests.faults.__main__ import by_site, main, summary
from tests.faults.fault_checks import CHECKS, Case, cases, findings
from tests.faults.fault_places import LocalSite
from tests.faults.fault_rounds import Round, undisturbed
from tests.faults.fault_runs import KINDS, MAX_TOOL_CALLS, Effect
from tests.faults.fault_table import FAULTS, Record


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Case:
    """A run that puts a question, and that nothing has disturbed."""
    return asyncio.run(_undisturbed_run(tmp_path_factory.mktemp("sound")))


async def _undisturbed_run(folder: Path) -> Case:
    with LocalSite(folder) as site:
        await site.up()
        expected = await undisturbed(site)
        around = Round(site, 0)
        await around.begin(tuple(KINDS))
        await around.end()
        assert findings(around, expected, is_calm=True) == []
        return next(case for case in cases(around, expected, is_calm=True) if case.seen.kind == "asking")


def seen(case: Case, **changes: Any) -> Case:
    return case._replace(seen=msgspec.structs.replace(case.seen, **changes))


def with_log(case: Case, *more: Event) -> Case:
    return case._replace(log=[*case.log, *more])


def another_end(case: Case) -> Case:
    last = case.seen.events[-1]
    return seen(case, events=[*case.seen.events, msgspec.structs.replace(last, seq=last.seq + 1)])


def another_result(case: Case) -> Case:
    result = next(event for event in case.log if isinstance(event.payload, StageSucceeded))
    return with_log(case, msgspec.structs.replace(result, seq=len(case.log) + 1))


def another_answer(case: Case) -> Case:
    answered = next((event.payload for event in case.log if isinstance(event.payload, InterruptAnswered)), None)
    again = answered or InterruptAnswered("q1", "local", InterruptResponse("x"))
    seq = len(case.log) + 1
    return with_log(case, Event(case.run_id, seq, 0, again), Event(case.run_id, seq + 1, 0, again))


def worked_again(case: Case) -> Case:
    effect = next(iter(case.effects))
    return case._replace(effects=case.effects + Counter([effect._replace(attempt=effect.attempt + 1)]))


BROKEN: dict[str, list[Callable[[Case], Case]]] = {
    "lost": [lambda case: seen(case, outcome=None)],
    "ended twice": [another_end],
    "other outcome": [
        lambda case: seen(case, outcome=msgspec.structs.replace(case.expected, reason="internal_error")),
        lambda case: seen(case, outcome=msgspec.structs.replace(case.expected, hops=case.expected.hops + 1)),
    ],
    "effect twice": [worked_again, another_result, lambda case: case._replace(effects=Counter())],
    "effect not once": [
        lambda case: case._replace(records=case.records + case.records),
        lambda case: case._replace(records=Counter()),
        lambda case: case._replace(records=case.records + Counter([Effect(RunId("r-1"), 1, 0, 1)])),
    ],
    "bounds": [
        lambda case: seen(case, tool_calls=case.seen.tool_calls - 1),
        lambda case: seen(case, tool_calls=MAX_TOOL_CALLS + 1),
    ],
    "event numbers": [
        lambda case: seen(case, events=[*case.seen.events[:1], *case.seen.events[2:]]),
        lambda case: seen(case, events=case.seen.events[:-1]),
    ],
    "answered twice": [another_answer],
    "log": [lambda case: case._replace(log=case.log[:1] + case.log[2:])],
}


def test_every_check_is_seen_to_fail() -> None:
    assert BROKEN.keys() == CHECKS.keys()


@pytest.mark.parametrize(
    ("name", "number"), [(name, number) for name, breaks in BROKEN.items() for number in range(len(breaks))]
)
def test_a_check_finds_what_it_is_there_for(sound: Case, name: str, number: int) -> None:
    assert list(CHECKS[name](BROKEN[name][number](sound)))


@pytest.mark.long
def test_the_command_strikes_and_tells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = tmp_path / "report.json"
    assert main(["--rounds", "2", "--faults", "clock-step", "--json", str(report)]) == 0
    line = json.loads(report.read_text(encoding="utf-8"))["faults"]["clock-step"]
    assert (line["rounds"], line["accepted"], line["ended"], line["lost"], line["doubled"]) == (2, 18, 18, 0, 0)
    assert set(line["recovery_s"]) == {"median", "max"}
    assert "clock-step" in capsys.readouterr().out


def test_an_unknown_fault_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--faults", "kill-agent,kill-cat"])
    assert "no fault is named kill-cat" in capsys.readouterr().err


def test_rounds_with_a_finding_are_counted_as_wrong() -> None:
    line = summary([Record(2, 2, 0, 0, 0.5, 1.0, []), Record(2, 1, 1, 0, None, 3.0, ["lost: r-1"])])
    assert (line["accepted"], line["ended"], line["lost"], line["wrong"]) == (4, 3, 1, 1)
    assert (line["detection_s"], line["recovery_s"]) == ({"median": 0.5, "max": 0.5}, {"median": 2.0, "max": 3.0})
    assert line["findings"] == ["lost: r-1"]


def test_faults_on_the_same_kind_of_site_share_it() -> None:
    groups = by_site(FAULTS)
    assert sorted(name for names in groups for name in names) == sorted(FAULTS)
    assert len(groups) == len({fault.site for fault in FAULTS.values()})
