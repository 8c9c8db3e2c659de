"""A cut takes all of a part of a function, or none of it, and leaves no function that only hands on."""

from __future__ import annotations

import textwrap

import pytest

from actors.capabilities.violation_fix.policies.refactoring_rules import GiveUp, Plan, plan_refactorings
from actors.capabilities.violation_fix.refactoring.complexity import Limits
from actors.capabilities.violation_fix.refactoring.cutting.candidates import CandidateSearch
from actors.capabilities.violation_fix.refactoring.flow.name_scopes import find_function
from actors.capabilities.violation_fix.refactoring.source_text import SourceText
from tests.capabilities.violation_fix.test_names_of_blocks import names


def planned(source: str, complexity: int, function: str = "work") -> Plan | GiveUp:
    return plan_refactorings(textwrap.dedent(source).lstrip("\n"), function, Limits(complexity=complexity))


CHECKS = """
        def work(sizes, rows):
            for row in rows:
                sizes.add(len(row))
            if len(sizes) == 0:
                raise ValueError("no rows")
            elif len(sizes) > 1:
                raise ValueError("rows of several sizes")
            {third}
            return rows.join(sizes)
"""


@pytest.mark.parametrize(
    ("third", "lines"),
    [
        ("if sizes == {0}:\n                raise ValueError('empty rows')", (4, 9)),
        ("assert sizes != {0}", (4, 8)),
        ("if rows == {0}:\n                raise ValueError('empty rows')", (4, 7)),
        ("if sizes == {0}:\n                return None", (4, 7)),
        ("\n            if sizes == {0}:\n                raise ValueError('empty rows')", (4, 7)),
    ],
    ids=["one more", "an assertion", "of another thing", "no check", "behind a blank line"],
)
def test_checks_of_one_thing_in_a_row_move_together_or_stay(third: str, lines: tuple[int, int]) -> None:
    found = names(CHECKS.replace("{third}", third))
    assert found[lines] == "_check_sizes"
    assert [each for each in found if each[0] == 4] == [lines]


COMMENTED = """
        def work(columns, labels, table):
            log.debug(columns)

            # Make sure that both are lists
            columns = list(columns) if list(columns) else []
            labels = list(labels) if list(labels) else []
{gap}            # If there are columns, all others are labels
            if columns and not labels:
                labels = list(table.without(columns))
            return table.pick(columns, labels)
"""


def test_no_comment_is_left_above_half_of_what_it_covers() -> None:
    found = names(COMMENTED.format(gap="\n"))
    assert not any(begin in (6,) and end > 6 for begin, end in found)


def test_what_begins_with_a_commented_paragraph_ends_with_one() -> None:
    source = """
        def work(columns, labels, table):
            log.debug(columns)

            rows = []
            for column in columns:
                if column.is_wide:
                    rows.append(column.row)
            # Sort them, and keep the first
            rows.sort()
            first_row = rows[0]
            table.show(first_row)
            return table.pick(rows, labels)
    """
    assert not any(begin == 4 and end in (9, 10) for begin, end in names(source))
    assert (4, 7) in names(source)


NESTED = """
        def work(sizes, limit):
            def {name}(size, name, limit):
                if size < 0:
                    rest = limit + size
                    if rest < 0:
                        raise ValueError(name)
                    size = rest
                return size

            first = {name}(sizes[0], "first", limit)
            last = {name}(sizes[1], "last", limit)
            if first == last:
                raise ValueError(sizes)
            return first, last
"""


@pytest.mark.parametrize("name", ["size_fmt", "cfn_size", "_get_cfn_size"])
def test_the_author_has_named_a_nested_function_whatever_the_words(name: str) -> None:
    plan = planned(NESTED.format(name=name), 2)
    assert isinstance(plan, Plan)
    assert [step.parameters.get("kind") for step in plan.steps] == ["move_out"]
    assert f"def _{name.strip('_')}(size, name, limit):" in plan.source


@pytest.mark.parametrize("name", ["inner", "fmt", "f_x", "x_y", "size_helper"])
def test_no_function_is_left_that_only_hands_on_what_it_is_given(name: str) -> None:
    plan = planned(NESTED.format(name=name), 2)
    assert isinstance(plan, GiveUp)


@pytest.mark.parametrize("tail", ["return widest_row", "return widest_row + 1", "return rows"])
def test_all_but_what_returns_it_is_all_of_a_function(tail: str) -> None:
    source = f"""
        def work(rows, limit):
            widest_row = None
            for row in rows:
                if len(row) > limit:
                    widest_row = row
                    break
            print(widest_row)
            {tail}
    """
    assert (2, 7) not in names(source)
    assert ((2, 6) in names(source.replace("print(widest_row)", ""))) is (tail == "return widest_row + 1")


BOOKS = """
        def work(self, sizes, rows):
            if self.is_wide:
                chosen_rows = rows.of(sizes)
            elif self.is_long:
                chosen_rows = rows.of(reversed(sizes))
            else:
                chosen_rows = rows
            for size in sizes:
                self._sizes_cache[size] = []
            {rest}
            return chosen_rows
"""


@pytest.mark.parametrize(("rest", "is_work"), [("self._sizes_cache[0].append(rows)", True), ("rows.sort()", False)])
def test_what_the_function_goes_on_to_fill_is_no_record_that_a_block_keeps_by_the_way(rest: str, is_work: bool) -> None:
    found = names(f"class Table:\n{textwrap.indent(BOOKS.format(rest=rest), '    ')}", "Table.work")
    assert any(end - begin == 7 for begin, end in found) is not is_work
    assert any(end - begin == 5 for begin, end in found)


EXCUSED = """
        def work(rows: list[int], limit: int) -> int:
            log.debug(limit)
            widest_row = None
            for row in rows:
                if row > limit:
                    widest_row = anything(row){excuse}
                    break
            return limit.ask(widest_row)
"""


@pytest.mark.parametrize(
    ("excuse", "is_moved"),
    [
        ("", True),
        ("  # of type int", True),
        ("  # type: ignore", False),
        ("  # type: ignore[misc]", False),
        ("  # pyright: ignore", False),
    ],
)
@pytest.mark.parametrize("is_annotated", [True, False])
def test_an_excuse_for_a_type_checker_stays_where_the_checker_reads(
    excuse: str, is_moved: bool, is_annotated: bool
) -> None:
    source = EXCUSED.format(excuse=excuse)
    if not is_annotated:
        source = source.replace(": list[int]", "").replace(": int", "").replace(" -> int", "")
    text = SourceText(textwrap.dedent(source).lstrip("\n"))
    place = find_function(text.tree, "work")
    assert place is not None
    search = CandidateSearch(text, place)
    found = [(one.start_line, one.end_line) for one in search.ranked(1, Limits())]
    assert ((3, 7) in found) is (is_moved or not is_annotated)


ALIKE = """
        def work(value, kind):
            if kind is ANY:
                return value
            elif kind is FILE:
                import io

                if isinstance(value, io.IOBase):
                    return value
                return File(value)
            elif kind is PATH:
                if isinstance(value, Path):
                    return value
                return Path(value)
            elif kind is SECRET:
                if isinstance(value, Secret):
                    return value
                return Secret(value)
            return kind
"""


def test_branches_that_were_built_alike_are_not_treated_in_two_ways() -> None:
    for complexity in (5, 6, 7):
        plan = planned(ALIKE.replace("work", "normalize"), complexity, "normalize")
        if isinstance(plan, Plan):
            assert "if isinstance(value, Path) else" not in plan.source
            assert "if isinstance(value, Secret) else" not in plan.source


GUARDED = """
        def work(self, limit):
            try:
                chosen_row = self.rows.first()
            except LookupError as error:
                log.debug(error)
                return {value}
            if not chosen_row:
                return {value}
            chosen_row = active_row(chosen_row)
            if not chosen_row:
                return {other}

            sizes = set()
            for name in ("a", "b"):
                sizes.add(chosen_row.size(name, limit))
            log.debug(sizes)
            log.debug(name)
            log.debug(chosen_row)
            return sizes, chosen_row
"""


@pytest.mark.parametrize(
    ("value", "other", "is_one"),
    [
        ("0.0, 0", "0.0, 0", True),
        ("-1", "-1", True),
        ("(None, -1)", "(None, -1)", True),
        ("()", "()", True),
        ("0.0, 0", "0.0, False", False),
        ("-1", "1", False),
        ("-1", "-True", False),
        ("0, limit", "0, limit", False),
    ],
)
def test_exits_with_one_constant_leave_the_caller_a_guard(value: str, other: str, is_one: bool) -> None:
    source = f"class Table:\n{textwrap.indent(GUARDED.format(value=value, other=other), '    ')}"
    found = names(source, "Table.work")
    assert (found.get((4, 13)) == "_find_chosen_row") is is_one


@pytest.mark.parametrize(("begins", "is_moved"), [("for row in rows:", True), ("if rows:", False)])
def test_a_comment_above_a_loop_speaks_of_the_loop_alone(begins: str, is_moved: bool) -> None:
    found = names(f"""
        def work(rows, table):
            log.debug(rows)
            total = 0
            # Sum up the sizes of rows
            {begins}
                if table:
                    total += len(table)
            if total > 9:
                table.warn(total)
            table.close(total)
    """)
    assert ((3, 7) in found) is is_moved
