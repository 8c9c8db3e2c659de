"""A cut has neither a store at its beginning that nothing in it reads, nor one at its end that is the caller's."""

from __future__ import annotations

import ast
import textwrap

import pytest

from actors.capabilities.violation_fix.policies.refactoring_rules import Plan, plan_refactorings
from actors.capabilities.violation_fix.refactoring.complexity import Limits
from actors.capabilities.violation_fix.refactoring.cutting.cuts import stores_result
from tests.capabilities.violation_fix.test_names_of_blocks import names

UNREAD = """
        def work(pages, limit):
            log.debug(limit)

            {store}
            widest_page = None
            for page in pages:
                if page.size > limit:
                    widest_page = page
                    break

            {reads}
            return widest_page
"""


@pytest.mark.parametrize(
    ("store", "reads", "is_left_out"),
    [
        ("answer = 0", "answer = limit.ask(widest_page)", True),
        ("answer: int = 0", "answer = limit.ask(widest_page)", True),
        ("answer = 0", "limit.ask(answer)", True),
        ("widest_page = 0", "limit.ask(widest_page)", True),
        ("limit = limit + 1", "limit.ask(widest_page)", False),
        ("pages, limit = limit, pages", "limit.ask(widest_page)", False),
    ],
)
def test_a_first_store_that_the_block_does_not_read_stays(store: str, reads: str, is_left_out: bool) -> None:
    found = names(UNREAD.format(store=store, reads=reads))
    assert any(begin == 4 for begin, _ in found) is not is_left_out
    assert (5, 9) in found


@pytest.mark.parametrize(
    ("last", "is_stored"),
    [
        ("found[key] = value", True),
        ("found[key.strip()] = value", True),
        ("found.append(value)", True),
        ("found.add(value)", True),
        ("found[value] = value", False),
        ("found[key] = value + 1", False),
        ("found[key] = key", False),
        ("self.found[key] = value", False),
        ("made[key] = value", False),
        ("found.extend(value)", False),
        ("found.append(value, key)", False),
        ("show(value)", False),
        ("found = value", False),
    ],
)
def test_what_the_caller_keeps_is_told_from_what_the_block_makes(last: str, is_stored: bool) -> None:
    body = ast.parse(f"made = {{}}\nvalue = work(key)\n{last}\n").body
    assert stores_result(body) is is_stored


def test_a_new_function_returns_what_its_caller_stores() -> None:
    branches = "".join(
        f"\n                    elif v.endswith({n!r}):\n                        v = part(v, {n})"
        for n in ("1", "2", "3")
    )
    source = textwrap.dedent(
        f"""
        def work_on(pairs):
            found = {{}}
            for pair in pairs:
                try:
                    k, v = pair.split("=")
                    # Convert common values
                    if v == "true":
                        v = True{branches}
                    found[k.strip()] = v
                except ValueError:
                    raise TypeError(pair)
            return found
        """
    )
    plan = plan_refactorings(source, "work_on", Limits(complexity=5))
    assert isinstance(plan, Plan), plan
    assert "            v = _convert_common_values(v)\n            found[k.strip()] = v\n" in plan.source
