"""What the rules choose can be carried out as it stands by the tool of that name."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.capabilities.violation_fix.actions.edit_tools import FixWorkspace
from actors.capabilities.violation_fix.actions.toolset import TOOLS
from actors.capabilities.violation_fix.agents.decide import malformed
from actors.capabilities.violation_fix.policies.fix_rules import Situation, choose
from actors.capabilities.violation_fix.refactoring.complexity import Limits

MANY = """\
def _drawn(pen, left, top, width, height, colour):
    return [pen, left, top, width, height, colour]


def draw(pen):
    return _drawn(pen, 1, 2, 3, 4, "red")
"""


def situation(check_id: str, symbol: str, source: str) -> Situation:
    allowed = ("split_parameters", "extract_function", "cannot_fix", "escalate")
    return Situation("implement", check_id, symbol, source, Limits(), 88, False, False, True, 1, None, allowed, ())


def test_parameters_that_the_rules_gather_are_gathered(tmp_path: Path) -> None:
    chosen = choose(situation("PLR0913", "_drawn", MANY))
    assert (chosen.action, malformed(chosen)) == ("split_parameters", None)
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/a.py").write_text(MANY)
    tool = TOOLS.get(chosen.action)
    place = FixWorkspace(str(tmp_path / "tree"), "a.py", str(tmp_path / "edits"))
    done = tool.run(place, tool.read_arguments({**chosen.parameters, "key": "1"}))
    assert done.status == "ok", done
    namespace: dict[str, object] = {"__name__": "a"}
    exec((tmp_path / "tree/a.py").read_text(), namespace)
    assert namespace["draw"]("pen") == ["pen", 1, 2, 3, 4, "red"]  # type: ignore[operator]


@pytest.mark.parametrize("check_id", ["deep-nesting", "long-function", "E501"])
def test_a_check_that_no_rule_mends_is_given_up_with_that_reason(check_id: str) -> None:
    chosen = choose(situation(check_id, "_drawn", MANY))
    assert (chosen.action, f"no rule mends {check_id}" in chosen.parameters["reason"]) == ("cannot_fix", True)
