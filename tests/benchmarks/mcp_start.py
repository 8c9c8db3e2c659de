"""How long the MCP door takes from its start to the tool list and to the first search, against a cold `jeeves ask`.

    python -m tests.benchmarks.mcp_start REPO [--turns 5] [--question TEXT] [--in-process]

Every turn starts each from nothing, one after the other, so that what else the machine does strikes them alike: a cold
`jeeves ask`, a server whose first call is `locate`, and one whose first call is the tool `ask`. Times of a server are
counted from the start of its process. That is done with the index made before, and with a state folder that is new each
time. Printed: medians, and the figures as one line of JSON. The goals: `initialize` and `tools/list` within 2 s, the
first search within 1.5 times a cold `ask`. With `--in-process` no question starts Ray: then the second goal is harder.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.doors.mcp_site import PATIENCE_S, raw_client
from tests.doors.program import Program

GOAL_LIST_S = 2.0
GOAL_SEARCH_FACTOR = 1.5
QUESTION = "Where is the configuration read?"
# The first call of a server: what the figure is called, the tool, and the name of its argument.
FIRST_CALLS = (("first locate", "locate", "query"), ("first ask", "ask", "question"))
LISTED, COLD = "tool list", "cold ask"


class FirstTimes(NamedTuple):
    """Seconds from the start of a server to its tool list, and to the answer of its first call."""

    listed_s: float
    answered_s: float


def first_times(jeeves: Program, root: Path, tool: str, argument: str, question: str) -> FirstTimes:
    """Start a server, list its tools, call one as soon as it may be called, and end the server."""
    began_s = time.perf_counter()
    with raw_client(jeeves, root, "--tools", "all") as client:
        client.initialize()
        client.request(1, "tools/list")
        assert client.answer(1)["result"]["tools"]
        listed_s = time.perf_counter() - began_s
        client.request(2, "tools/call", name=tool, arguments={argument: question})
        told = client.answer(2)["result"]
        answered_s = time.perf_counter() - began_s
        assert not told.get("isError"), told
        # At the end of its input a server ends all that it started, Ray too.
        assert client.process.stdin is not None
        client.process.stdin.close()
        client.ended_within(PATIENCE_S)
    return FirstTimes(listed_s, answered_s)


def cold_ask_s(jeeves: Program, root: Path, question: str) -> float:
    """Seconds that `jeeves ask` takes in a process of its own, with no system up."""
    began_s = time.perf_counter()
    process = jeeves.start("ask", question, "--repo", root, "--json")
    out, err = process.communicate(timeout=600)
    assert json.loads(out)["run_id"], err
    return time.perf_counter() - began_s


def measured(
    root: Path, folder: Path, question: str, turns: int, *, has_index: bool, **env: str
) -> dict[str, list[float]]:
    """Seconds of each turn by what was measured; `has_index`: the index is made before anything is measured."""
    folder.mkdir(exist_ok=True)
    if has_index:
        cold_ask_s(Program(folder / "state", **env), root, question)
    times: dict[str, list[float]] = {name: [] for name in (LISTED, COLD, *(name for name, _, _ in FIRST_CALLS))}
    for turn in range(turns):

        def program(what: str, turn: int = turn) -> Program:
            return Program(folder / ("state" if has_index else f"{what}-{turn}".replace(" ", "-")), **env)

        times[COLD].append(cold_ask_s(program(COLD), root, question))
        for name, tool, argument in FIRST_CALLS:
            found = first_times(program(name), root, tool, argument, question)
            times[LISTED].append(found.listed_s)
            times[name].append(found.answered_s)
    return times


def figures_of(times: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Medians in seconds, and the first calls as multiples of a cold question."""
    medians = {name: statistics.median(values) for name, values in times.items()}
    told = {f"{name.replace(' ', '_')}_s": round(median, 3) for name, median in medians.items()}
    ratios = {f"{name.replace(' ', '_')}_x": round(medians[name] / medians[COLD], 2) for name, _, _ in FIRST_CALLS}
    return {**told, **ratios}


def table(told: Mapping[str, Mapping[str, float]]) -> str:
    """The figures for a reader; what misses its goal is marked."""
    rows = [f"{'state':10s} {'tool list':>10s} {'cold ask':>10s} {'first locate':>21s} {'first ask':>21s}"]
    for case, each in told.items():
        listed = f"{each['tool_list_s']:8.2f} s{'*' if each['tool_list_s'] > GOAL_LIST_S else ''}"
        calls = [
            f"{each[f'{key}_s']:8.2f} s {each[f'{key}_x']:7.2f} x{'*' if each[f'{key}_x'] > GOAL_SEARCH_FACTOR else ''}"
            for key in ("first_locate", "first_ask")
        ]
        rows.append(f"{case:10s} {listed:>10s} {each['cold_ask_s']:8.2f} s {calls[0]:>21s} {calls[1]:>21s}")
    return "\n".join([*rows, f"* over {GOAL_LIST_S:g} s, or over {GOAL_SEARCH_FACTOR:g} times a cold question"])


def main(arguments: argparse.Namespace) -> None:
    """Measure both cases, and print the figures."""
    root = Path(arguments.repo).resolve()
    env = {"JEEVES_RAY__MODE": "in_process"} if arguments.in_process else {}
    load_before = os.getloadavg()[0]
    told = {}
    for case, has_index in (("indexed", True), ("new", False)):
        with tempfile.TemporaryDirectory(prefix="jeeves-start-") as folder:
            times = measured(root, Path(folder), arguments.question, arguments.turns, has_index=has_index, **env)
        told[case] = figures_of(times)
    loads = [round(load, 1) for load in (load_before, os.getloadavg()[0])]
    sys.stdout.write(f"{table(told)}\n{json.dumps({'load': loads, 'turns': arguments.turns, 'cases': told})}\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repo")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--question", default=QUESTION)
    parser.add_argument("--in-process", action="store_true", help="without Ray")
    main(parser.parse_args())
