"""What stands twice in a file becomes one function that both places call, or lowers the chance of the cut."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

from actors.capabilities.violation_fix.policies.refactoring_rules import Plan, plan_refactorings
from actors.capabilities.violation_fix.refactoring.complexity import Limits
from actors.capabilities.violation_fix.refactoring.cutting.candidates import find_candidates
from actors.capabilities.violation_fix.refactoring.extraction import extract_function
from actors.capabilities.violation_fix.refactoring.outcomes import Refactored


def written(source: str) -> str:
    return textwrap.dedent(source).lstrip("\n")


def extracted(source: str, name: str = "_do_part") -> str:
    """Extract the lines between the two marks of a source."""
    lines = written(source).splitlines()
    first = next(number for number, line in enumerate(lines) if line.strip() == "# begin")
    last = next(number for number, line in enumerate(lines) if line.strip() == "# end")
    plain = "\n".join(line for line in lines if line.strip() not in ("# begin", "# end")) + "\n"
    found = extract_function(plain, first + 1, last - 1, name)
    assert isinstance(found, Refactored), found
    return found.source


COUNTED = """
    class First:
        def count(self, rows, log):
            total = 0
            # begin
            for row in rows:
                if row > 1:
                    total += row
                else:
                    log.append(row)
            # end
            return total


    def other({parameters}):
        {before}
        for {item} in given:
            if {item} > {least}:
                {sum} += {item}
            else:
                lost.append({item})
        return {after}
"""
ALIKE = {"parameters": "given, lost", "before": "n = 5", "item": "x", "sum": "n", "least": "1", "after": "n"}


def results(source: str) -> list[Any]:
    module: dict[str, Any] = {}
    exec(source, module)
    found: list[Any] = []
    for rows in ([], [1], [3, 0, 2], [1, 1, 9]):
        logs: tuple[list[int], list[int]] = ([], [])
        found += [module["First"]().count(rows, logs[0]), module["other"](rows, logs[1]), logs]
    return found


def test_a_copy_with_names_of_its_own_calls_the_new_function_too() -> None:
    source = COUNTED.format(**ALIKE)
    moved = extracted(source)
    assert "    n = 5\n    n = _do_part(lost, n, given)\n" in moved or "    n = _do_part(given, lost, n)\n" in moved
    assert moved.count("for ") == 1
    assert results(moved) == results(written(source))


@pytest.mark.parametrize(
    "change",
    [
        {"least": "2"},
        {"after": "n, x"},
        {"before": "global n; n = 5"},
        {"before": "n = 5; log = lost; lost = log"},
        {"parameters": "given, lost, n=0", "before": "del n; n = 5 if given else 5"},
        {"before": "n = 5; locals()"},
        {"item": "n", "before": "n = 5"},
    ],
)
def test_what_does_something_else_stays(change: dict[str, str]) -> None:
    source = COUNTED.format(**{**ALIKE, **change})
    moved = extracted(source)
    # Only a name that is bound otherwise before the block makes no difference.
    assert moved.count("for ") == (1 if set(change) & {"parameters"} or "log = lost" in str(change) else 2)


def test_a_copy_does_not_call_what_is_named_after_something_that_it_has_not() -> None:
    source = COUNTED.format(**ALIKE)
    assert [extracted(source, name).count("for ") for name in ("_add_rows", "_sum_up")] == [2, 1]


def test_a_comment_of_its_own_keeps_a_copy() -> None:
    source = COUNTED.format(**{**ALIKE, "after": "n"}).replace("lost.append(x)", "lost.append(x)  # too small")
    assert extracted(source).count("for ") == 2
    both = source.replace("log.append(row)", "log.append(row)  # too small")
    assert extracted(both).count("for ") == 1


def test_the_new_function_stands_above_the_first_of_its_callers() -> None:
    source = written("""
        def early(rows):
            for row in rows:
                if not row:
                    raise ValueError(f"no row {row}")
            return rows


        @early
        def first(rows):
            # begin
            for row in rows:
                if not row:
                    raise ValueError(f"no row {row}")
            # end
            return len(rows)
    """)
    moved = extracted(source)
    assert moved.index("def _do_part") < moved.index("def early") or moved.index("def _do_part") < moved.index("@early")
    assert moved.count("raise") == 1


def test_annotations_that_differ_keep_a_copy() -> None:
    source = """
        def first(rows: list[int]) -> int:
            # begin
            for row in rows:
                if not row:
                    raise ValueError(f"no row {row}")
            # end
            return len(rows)


        def other(rows: list[KIND]) -> int:
            for row in rows:
                if not row:
                    raise ValueError(f"no row {row}")
            return len(rows)
    """
    assert extracted(source.replace("KIND", "int")).count("raise") == 1
    assert extracted(source.replace("KIND", "str")).count("raise") == 2


TWICE = """
    def work(left, right, log):
        {first}

        # Check all names.
        for name in left:
            if name.startswith("_"):
                log.append(name)
            elif name not in right:
                raise ValueError(f"unknown name {{name}}")
        print(log)

        # Check all names.
        for name in right:
            if name.startswith("_"):
                log.append(name)
            elif name not in left:
                raise ValueError(f"unknown name {{name}}")
        return log
"""


def test_what_a_function_does_twice_is_taken_from_it_twice() -> None:
    found = find_candidates(written(TWICE.format(first="print(left)")), "work")
    best = next(one for one in found if one.end_line - one.start_line == 5)
    assert best.complexity_removed == 6


def test_a_plan_says_where_else_its_function_is_called() -> None:
    source = written(TWICE.format(first="print(left)"))
    plan = plan_refactorings(source, "work", Limits(complexity=4))
    assert isinstance(plan, Plan), plan
    assert "it is called in work too" in plan.steps[0].suggestion
    assert plan.source.count("raise") == 1


@pytest.mark.parametrize(("other", "is_like"), [("'unknown name'", True), ("left.message(right, log, 3)", False)])
def test_what_is_nearly_the_same_elsewhere_costs_a_cut(other: str, is_like: bool) -> None:
    block = """

        # Check all names.
        for name in left:
            if name.startswith("_"):
                log.append(name)
            elif name not in right:
                raise ValueError({})
    """
    head = "def {}(left, right, log):\n    print(left)\n"
    body = textwrap.indent(textwrap.dedent(block).rstrip(), "    ")
    rest = "\n    print(right)\n    return log\n"
    alone = head.format("work") + body.format("'bad name'") + rest
    beside = f"{alone}\n\n" + head.format("other") + body.format(other) + rest
    scores = [max(one.score for one in find_candidates(each, "work")) for each in (alone, beside)]
    assert (scores[1] < scores[0]) is is_like
