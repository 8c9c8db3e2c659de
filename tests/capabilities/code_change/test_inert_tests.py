"""Tests that keep their name and their text, and no longer check anything, are found by their syntax."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.capabilities.code_change.evidence.inert_tests import inert_tests
from tests.capabilities.code_change.played_agent import Agent, git, repository

HEAD = "import pytest\nfrom cart import total\n\n\n"
BODY = "    assert total([1]) == 1\n    assert total([]) == 0\n"
PLAIN = f"def test_total():\n{BODY}"
DEEPER = BODY.replace("    assert", "        assert")


@pytest.mark.parametrize(
    ("after", "told"),
    [
        (f"def test_total():\n    return\n{BODY}", "2 assertions after a `return` that is always reached"),
        (
            "def test_total():\n    assert total([1]) == 1\n    return\n    assert total([]) == 0\n",
            "1 assertion after a `return` that is always reached",
        ),
        (f"def test_total():\n    raise SystemExit\n{BODY}", "2 assertions after a `raise` that is always reached"),
        (f"def test_total():\n    if False:\n{DEEPER}", "2 assertions below a condition that is never true"),
        (f"def test_total():\n    if 0 and total:\n{DEEPER}", "2 assertions below a condition that is never true"),
        (f"def test_total():\n    while None:\n{DEEPER}", "2 assertions below a condition that is never true"),
        (f"def test_total():\n    for _ in []:\n{DEEPER}", "2 assertions in a loop over nothing"),
        (
            f"def test_total():\n    try:\n{DEEPER}    except AssertionError:\n        pass\n",
            "2 assertions in a `try` that keeps their failure",
        ),
        (
            f"def test_total():\n    try:\n{DEEPER}    except (ValueError, Exception) as e:\n        print(e)\n",
            "2 assertions in a `try` that keeps their failure",
        ),
        (
            f"def test_total():\n    with contextlib.suppress(Exception):\n{DEEPER}",
            "2 assertions in a `suppress` that keeps their failure",
        ),
        (f"def test_total():\n    def check():\n{DEEPER}", "2 assertions in `check`, which it does not call"),
        (f"def test_total():\n    total = sum\n{BODY}", "2 assertions about something else that it calls `total`"),
        (f"def outer():\n    def test_total():\n{DEEPER}", "nothing collects it any more"),
        (f"__test__ = False\n{PLAIN}", "nothing collects it any more"),
        (f"if False:\n    def test_total():\n{DEEPER}", "nothing collects it any more"),
        (f"class TestCart:\n    __test__ = False\n    def test_total(self):\n{DEEPER}", "nothing collects it any more"),
        (f"class Cart:\n    def test_total(self):\n{DEEPER}", "nothing collects it any more"),
        (f'"""\n{PLAIN}"""\n', "nothing collects it any more"),
        (f"{PLAIN}\n\ndel test_total\n", "nothing collects it any more"),
        (f"{PLAIN}\n\ntest_total = None\n", "nothing collects it any more"),
        (f"{PLAIN}\n\ntest_total.__test__ = False\n", "nothing collects it any more"),
        (f"if TYPE_CHECKING:\n    def test_total():\n{DEEPER}", "nothing collects it any more"),
        (f"if typing.TYPE_CHECKING:\n    def test_total():\n{DEEPER}", "nothing collects it any more"),
        (f"if __name__ == '__main__':\n    def test_total():\n{DEEPER}", "nothing collects it any more"),
        (
            f"class TestCart:\n    def __init__(self, n): ...\n    def test_total(self):\n{DEEPER}",
            "nothing collects it any more",
        ),
        (
            f"{PLAIN}\n\ndef test_total():\n    pass\n",
            "2 assertions in an earlier one of its name, which the last one replaces",
        ),
        (f"@pytest.mark.parametrize('n', [])\n{PLAIN}", "2 assertions in a test that is given no parameters"),
        (f"from unittest import skip as s\n@s('x')\n{PLAIN}", "2 assertions in a test that `s` skips"),
        (f"from pytest import mark as m\n@m.skip\n{PLAIN}", "2 assertions in a test that `m.skip` skips"),
        (f"{PLAIN}    yield\n", "2 assertions in a generator, which is not run"),
        (f"def test_total():\n    if not __debug__:\n{DEEPER}", "2 assertions below a condition that is never true"),
        (f"def test_total():\n    if not 1:\n{DEEPER}", "2 assertions below a condition that is never true"),
        (
            f"def test_total():\n    with pytest.raises(AssertionError):\n{DEEPER}",
            "2 assertions in a `raises` that expects their failure",
        ),
        (
            f"def total(x):\n    return len(x)\n\n\n{PLAIN}",
            "2 assertions about something else that it calls `total`",
        ),
        (f"total = len\n\n\n{PLAIN}", "2 assertions about something else that it calls `total`"),
    ],
)
def test_a_test_that_checks_less_than_its_text_says_is_told_with_the_reason(after: str, told: str) -> None:
    ast.parse(after)
    assert inert_tests(HEAD + PLAIN, HEAD + after) == [f"test_total: {told}"]


@pytest.mark.parametrize(
    "after",
    [
        PLAIN,
        f"@pytest.mark.parametrize('n', [1])\nasync def test_total(n):\n{BODY}",
        f"class TestCart:\n    def test_total(self):\n{DEEPER}",
        f"class CartCase(unittest.TestCase):\n    def test_total(self):\n{DEEPER}",
        f"def test_total():\n    def check():\n{DEEPER}    check()\n",
        f"def test_total():\n    for n in (1, 2):\n{DEEPER}",
        f"def test_total():\n    if n:\n        return\n{BODY}",
        f"def test_total():\n    try:\n{DEEPER}    except ValueError:\n        pass\n",
        f"def test_total():\n    try:\n{DEEPER}    except AssertionError:\n        raise\n",
        f"def test_total():\n    try:\n{DEEPER}    except Exception as e:\n        pytest.fail(str(e))\n",
        f"def test_total():\n    try:\n{DEEPER}    finally:\n        close()\n",
        f"def test_total():\n    with opened():\n{DEEPER}",
        f"def test_total():\n    with pytest.raises(ValueError):\n{DEEPER}",
        f"if not TYPE_CHECKING:\n    def test_total():\n{DEEPER}",
        f"if __name__ != '__main__':\n    def test_total():\n{DEEPER}",
        f"@pytest.mark.parametrize('n', [1])\n{PLAIN}",
        f"@pytest.fixture\ndef made():\n    yield 1\n\n\n{PLAIN}",
        f"{PLAIN}\n    def made():\n        yield 1\n",
        f"{PLAIN}\n\ntest_other = None\ndel other\n",
        f"from unittest import mock as m\n@m.patch('x')\n{PLAIN}",
        f"def test_total():\n    sums = 1\n{BODY}",
        "def test_total():\n    assert total([1]) == 1\n",
        "def test_sum():\n    assert total([1]) == 1\n",
        "def test_total(:\n",
    ],
)
def test_a_test_that_still_checks_what_it_says_is_not_told(after: str) -> None:
    assert inert_tests(HEAD + PLAIN, HEAD + after) == []


def test_what_a_test_did_not_check_before_either_is_not_told() -> None:
    before = f"def test_total():\n    return\n{BODY}"
    assert inert_tests(before, before.replace("return", "return None")) == []


def test_expected_errors_and_methods_count_as_assertions() -> None:
    before = (
        "class TestA:\n    def test_a(self):\n"
        "        with pytest.raises(E):\n            f()\n        self.assertEqual(1, g())\n"
    )
    after = before.replace("        with", "        return\n        with", 1)
    assert inert_tests(before, after) == ["test_a: 2 assertions after a `return` that is always reached"]


@pytest.mark.parametrize(
    "text",
    ["(" * 5_000, "x" + ".y" * 50_000, "\0", "def test_a():\n" + "\n".join("\t" * n + "if 1:" for n in range(1, 150))],
)
def test_a_file_that_nothing_can_parse_is_told_nothing_about(text: str) -> None:
    assert inert_tests(PLAIN, text) in ([], ["test_total: nothing collects it any more"])
    assert inert_tests(text, PLAIN) == []


@given(st.lists(st.sampled_from(["a = 1", "assert a", "return", "if a:\n        assert b", "f()"]), max_size=6))
def test_a_body_that_only_grows_at_its_end_loses_nothing(lines: list[str]) -> None:
    def test_of(body: list[str]) -> str:
        return "def test_n():\n" + "".join(f"    {line}\n" for line in [*body, "pass"])

    assert inert_tests(test_of(lines), test_of([*lines, "assert c"])) == []


async def test_the_person_is_told_of_a_test_that_returns_before_its_assertions(tmp_path: Path) -> None:
    root = repository(tmp_path / "project")
    (root / "test_load.py").write_text(PLAIN)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "tests")
    agent = Agent(root, tmp_path / "state")
    await agent.start()
    await agent.go_to(13)
    await agent.see("read_code", "test_load.py")
    await agent.session.add_explored_files(["test_load.py"])
    assert (await agent.session.check_write_target("test_load.py"))["permitted"]
    agent.edit("test_load.py", PLAIN.replace(":\n", ":\n    return\n", 1))
    await agent.go_to(17)
    said = "assertions that are no longer checked (test_total: 2 assertions after a `return` that is always reached)"
    assert said in (await agent.session.review_changes())["tests"]
