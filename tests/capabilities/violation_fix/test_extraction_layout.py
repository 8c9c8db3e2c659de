"""New functions are laid out as the file is: where they stand, how lines break, and which comments come along."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

import pytest

from actors.capabilities.violation_fix.refactoring.annotations.modules import TypingRules
from actors.capabilities.violation_fix.refactoring.extraction import extract_function
from actors.capabilities.violation_fix.refactoring.outcomes import Refactored, Refused


def text(source: str) -> str:
    return textwrap.dedent(source).lstrip("\n")


def done(source: str, line_length: int = 79, rules: TypingRules | None = None) -> Refactored | Refused:
    """Extract the lines between the two marks of a source."""
    lines = text(source).splitlines()
    first = next(number for number, line in enumerate(lines) if line.strip() == "# begin")
    last = next(number for number, line in enumerate(lines) if line.strip() == "# end")
    plain = "\n".join(line for line in lines if line.strip() not in ("# begin", "# end")) + "\n"
    return extract_function(plain, first + 1, last - 1, "_do_part", line_length=line_length, typing=rules)


def extracted(source: str, line_length: int = 79) -> str:
    found = done(source, line_length)
    assert isinstance(found, Refactored), found
    return found.source


COUNTED = """
    def total(rows):
        count = 0
        # begin
        for row in rows:
            if row:
                count += 1
        # end
        return _checked(count)
"""


def test_a_function_stands_behind_its_caller_where_the_file_has_it_so() -> None:
    assert extracted(textwrap.dedent(COUNTED) + "\n\ndef _checked(count):\n    return count\n") == text("""
        def total(rows):
            count = 0
            count = _do_part(rows, count)
            return _checked(count)


        def _do_part(rows, count):
            for row in rows:
                if row:
                    count += 1
            return count


        def _checked(count):
            return count
    """)


def test_a_function_stands_before_its_caller_where_the_file_has_it_so() -> None:
    moved = extracted("def _checked(count):\n    return count\n\n\n" + textwrap.dedent(COUNTED).lstrip())
    assert moved.index("def _checked") < moved.index("def _do_part") < moved.index("def total")


def test_a_function_that_may_be_called_at_once_gets_its_helper_before_it() -> None:
    decorated = "import atexit\n\n\n@atexit.register" + textwrap.dedent(COUNTED)
    moved = extracted(decorated + "\n\ndef _checked(count):\n    return count\n")
    assert moved.index("def _do_part") < moved.index("@atexit.register")


def test_blank_lines_are_as_many_as_between_other_functions() -> None:
    moved = extracted("def one():\n    pass\n\ndef two():\n    pass\n" + COUNTED.replace("\n    ", "\n"))
    assert "\n\n\n" not in moved
    assert "pass\n\ndef _do_part" in moved
    assert "return count\n\ndef total" in moved


def test_long_signatures_go_on_in_columns_where_the_file_has_it_so() -> None:
    source = """
        def first(alpha, beta,
                  gamma):
            pass


        def total(the_first_of_all_rows, the_second_of_all_rows, and_the_limit):
            # begin
            for row in the_first_of_all_rows:
                if row in the_second_of_all_rows:
                    print(and_the_limit)
            # end
            print(1)
    """
    moved = extracted(source, 62)
    assert (
        text("""
        def _do_part(the_first_of_all_rows, the_second_of_all_rows,
                     and_the_limit):
    """)
        in moved
    )
    assert "    _do_part(the_first_of_all_rows, the_second_of_all_rows,\n             and_the_limit)\n" in moved


@pytest.mark.parametrize(
    ("comment", "moves"),
    [
        ("# Count the rows that are there", True),
        ("# almost silly how complex this function is", False),
        ("# total_rows is called often, so no generator here", False),
        ("# pylint: disable=no-member", False),
        ("# type of the rows", True),
    ],
)
def test_a_comment_moves_with_the_block_that_it_speaks_of(comment: str, moves: bool) -> None:
    source = f"""
        def total_rows(rows):
            count = 0
            {comment}
            # begin
            for row in rows:
                if row:
                    count += 1
            # end
            return count
    """
    new, old = extracted(source).split("def total_rows")
    assert (comment in new, comment in old) == (moves, not moves)


class Sources:
    """Holds the other modules of a package."""

    def __init__(self, modules: Mapping[str, str]) -> None:
        self._modules = modules

    def source_of(self, module: str) -> tuple[str, bool] | None:
        found = self._modules.get(module)
        return (found, False) if found is not None else None


HELPERS = {
    "shop.warn": (
        "import sys, warnings\n"
        "def deep(text): warnings.warn(text, stacklevel=3)\n"
        "def near(text): warnings.warn(text, stacklevel=2)\n"
        "def caller(): return sys._getframe(1).f_code.co_name\n"
    )
}


@pytest.mark.parametrize(
    ("called", "is_refused"),
    [("deep", True), ("near", False), ("caller", True), ("local", True), ("above", True), ("further", False)],
)
def test_a_call_that_counts_frames_stays_where_it_is(called: str, is_refused: bool) -> None:
    source = f"""
        import warnings
        from shop.warn import deep, near, caller

        def local(name):
            warnings.warn(name, stacklevel=level())

        def above(name):
            wide(name)

        def wide(name):
            warnings.warn(name, stacklevel=4)

        def further(name):
            above(name)

        def total(rows):
            # begin
            for row in rows:
                if row:
                    {called}(row)
            # end
            print(rows)
    """
    found = done(source, rules=TypingRules(module="shop.orders", sources=Sources(HELPERS)))
    assert isinstance(found, Refused) is is_refused
    assert not is_refused or "frame_inspection" in str(found)


@pytest.mark.parametrize(
    ("head", "is_refused"),
    [
        ("(metaclass=Registry)", True),
        ("(Base)", True),
        ("(metaclass=abc.ABCMeta)", False),
        ("(Other)", False),
    ],
)
def test_no_method_is_added_where_a_metaclass_may_read_it(head: str, is_refused: bool) -> None:
    source = f"""
        import abc
        from somewhere import Registry

        class Base(metaclass=Registry):
            pass

        class Other(metaclass=abc.ABCMeta):
            pass

        class Table{head}:
            def total(self, rows):
                # begin
                for row in rows:
                    if row:
                        self.count += 1
                # end
                print(rows)
    """
    found = done(source)
    assert isinstance(found, Refused) is is_refused
    assert not is_refused or "metaclass" in str(found)


@pytest.mark.parametrize(("example", "is_moved"), [("Total.", True), (">>> total([])", False)])
def test_a_text_with_examples_does_not_become_the_docstring_of_a_new_function(example: str, is_moved: bool) -> None:
    found = done(f"""
        def total(rows):
            if rows:
                # begin
                "{example}"
                for row in rows:
                    row.read()
                # end
    """)
    assert isinstance(found, Refactored) is is_moved
    assert isinstance(found, Refactored) or found.code == "doctest"


@pytest.mark.parametrize(
    ("comment", "stays"),
    [
        ("# do part", False),
        ("# Do the part.", False),
        ("# do part 2", True),
        ("# part", False),
        ("# do a part of it", True),
    ],
)
def test_a_comment_that_says_the_name_of_the_function_goes(comment: str, stays: bool) -> None:
    source = COUNTED.replace("# begin", f"# begin\n        {comment}")
    assert (comment in extracted(source)) is stays


def test_a_comment_of_several_lines_stays() -> None:
    source = COUNTED.replace("# begin", "# begin\n        # do part\n        # of rows")
    assert "# do part" in extracted(source)


@pytest.mark.parametrize(
    ("before", "after", "is_closed"),
    [("", "return count", True), ("print(rows)\n\n", "return count", False), ("", "print(count)", False)],
)
def test_no_gap_is_left_between_a_call_and_the_one_statement_behind_it(
    before: str, after: str, is_closed: bool
) -> None:
    body = f"{before}# begin\ncount = 0\nfor row in rows:\n    if row:\n        count += 1\n# end\n\n{after}\n"
    source = f"def total(rows):\n    if rows:\n{textwrap.indent(body, ' ' * 8)}    return 0\n"
    assert ("_do_part(rows)\n\n" not in extracted(source)) is is_closed


@pytest.mark.parametrize(
    ("block", "call"),
    [
        ("rows = sorted(rows)\nif limit:\n    rows = rows[:limit]", "rows = _do_part(rows, limit)"),
        ("for row in rows:\n    limit += row", "limit = _do_part(rows, limit)"),
        ("if log:\n    rows = log.rows", "rows = _do_part(rows, log)"),
        ("if log:\n    limit = log.limit", "limit = _do_part(limit, log)"),
        ("for row in rows:\n    log.write(row, limit)", "_do_part(log, limit, rows)"),
        ("for row in rows:\n    log.write(row)\n    limit.write(row)", "_do_part(limit, rows, log)"),
    ],
)
def test_the_parameter_that_a_function_is_about_comes_first(block: str, call: str) -> None:
    body = textwrap.indent(f"# begin\n{block}\n# end\nprint(rows, limit)\n", "    ")
    assert f"    {call}\n" in extracted(f"def total(limit, rows, log):\n{body}")
