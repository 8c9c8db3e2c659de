"""Tests that a change removes, renames away or skips are told where it is reviewed and merged."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.capabilities.code_change.evidence.collection_files import changes_collection, collects_tests
from actors.capabilities.code_change.evidence.lost_tests import assertions_of, compared
from tests.capabilities.code_change.played_agent import Agent, git, repository
from tests.capabilities.code_change.test_cheats import problems

TESTS = "def test_one():\n    assert 1\n\n\ndef test_two():\n    assert 2\n"


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    root = repository(tmp_path / "project")
    (root / "test_load.py").write_text(TESTS)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "tests")
    return Agent(root, tmp_path / "state")


async def with_tests(agent: Agent, text: str) -> Agent:
    await agent.start()
    await agent.go_to(13)
    await agent.see("read_code", "test_load.py")
    await agent.session.add_explored_files(["test_load.py"])
    assert (await agent.session.check_write_target("test_load.py"))["permitted"]
    agent.edit("test_load.py", text)
    return await agent.go_to(17)


async def test_a_test_that_was_renamed_away_is_told_at_review_quality_and_merge(agent: Agent) -> None:
    await with_tests(agent, TESTS.replace("def test_two", "def no_test_two"))
    said = "1 test removed or renamed (test_two), 0 new"
    assert said in (await agent.session.review_changes())["tests"]
    await agent.go_to(18)
    await agent.step()
    assert said in str(agent.last["notes"])
    await agent.step()
    assert said in str(agent.last["notes"])
    assert agent.last["outcome"] == "completed"


async def test_a_change_that_adds_tests_is_told_nothing(agent: Agent) -> None:
    await with_tests(agent, f"{TESTS}\n\ndef test_three():\n    assert 3\n")
    assert "tests" not in await agent.session.review_changes()


async def test_a_file_of_tests_that_is_renamed_to_what_nobody_collects_is_told(agent: Agent) -> None:
    await with_tests(agent, TESTS)
    await agent.session.check_write_target("cases.py")
    (agent.workspace / "test_load.py").rename(agent.workspace / "cases.py")
    assert "2 tests removed or renamed (test_one, test_two), 0 new" in (await agent.session.review_changes())["tests"]


async def test_an_assertion_that_one_test_lost_is_told_though_another_gained_one(agent: Agent) -> None:
    await with_tests(agent, "def test_one():\n    load()\n\n\ndef test_two():\n    assert 2\n    assert 3\n")
    assert "1 assertion fewer (in test_one)" in (await agent.session.review_changes())["tests"]


async def test_an_assertion_that_was_made_to_hold_always_is_told_with_what_it_said(agent: Agent) -> None:
    await with_tests(agent, TESTS.replace("assert 2", "assert load() or True"))
    said = "1 test with changed assertions (test_two: `assert 2` → `assert load() or True`)"
    assert said in (await agent.session.review_changes())["tests"]


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (
            "self.assertEqual(3, n)",
            "self.assertTrue(n or True)",
            "self.assertEqual(3, n)` → `self.assertTrue(n or True)",
        ),
        (
            "assert n == (\n        3\n    )",
            "assert n == (\n        4\n    )",
            "assert n == ( 3 )` → `assert n == ( 4 )",
        ),
        ("assert one\n    assert two", "assert 1\n    assert 2", "assert one` → `assert 1` and 1 more"),
        ("assert one", "assert 1\n    assert True", "assert one` → `assert 1"),
        ("assert one", "assert one\n    assert two", ""),
        ("assert one", "load()\n    assert   one", ""),
        ("assert one\n    assert two", "assert two\n    assert one", ""),
        ("assert one\n    assert two", "assert one", ""),
    ],
)
def test_only_assertions_that_say_something_else_are_told_as_changed(before: str, after: str, told: str) -> None:
    sides = (f"def test_n():\n    {text}\n".split("\n") for text in (before, after))
    old, new = (assertions_of("test_n.py", lines) for lines in sides)
    changed = compared((), (), old, new).changed
    assert (told in changed[0]) if told else not changed


@pytest.mark.parametrize(("length", "is_cut"), [(79, False), (80, False), (81, True)])
def test_a_long_assertion_is_told_by_its_beginning(length: int, is_cut: bool) -> None:
    long = "assert " + "n" * (length - 7)
    old, new = (assertions_of("test_n.py", ["def test_n():", text]) for text in (long, "assert 1"))
    (told,) = compared((), (), old, new).changed
    assert ("…" in told) is is_cut


async def test_a_file_that_has_fewer_tests_collected_is_told(agent: Agent) -> None:
    await with_tests(agent, TESTS)
    agent.edit("conftest.py", "def pytest_collection_modifyitems(items):\n    items.clear()\n")
    told = (await agent.session.review_changes())["tests"]
    assert "what collects tests was changed (conftest.py)" in told


@pytest.mark.parametrize(
    ("file", "before", "after", "is_told"),
    [
        ("a/conftest.py", "", "collect_ignore = ['x.py']\n", True),
        ("pytest.ini", "[pytest]\ntestpaths = tests\n", "[pytest]\ntestpaths = none\n", True),
        ("pyproject.toml", "[project]\nname = 'a'\n", "[project]\nname = 'b'\n", False),
        ("pyproject.toml", "[tool.pytest.ini_options]\n", "[tool.pytest.ini_options]\naddopts = '-k x'\n", True),
        ("pyproject.toml", "[tool.pytest.ini_options]\na = 1\n[x]\n", "[x]\n[tool.pytest.ini_options]\na = 1\n", False),
        ("setup.cfg", "[tool:pytest]\n", "", True),
        ("setup.cfg", "[metadata]\nname = a\n", "[metadata]\nname = b\n", False),
        ("tox.ini", "[testenv]\ncommands = pytest\n", "[testenv]\ncommands = true\n", True),
        ("package.json", '{"scripts": {"test": "jest"}}', '{"scripts": {"test": "true"}}', True),
        ("package.json", '{"version": "1", "scripts": {"test": "jest"}}', '{"scripts": {"test": "jest"}}', False),
        ("package.json", '{"jest": {}}', '{"jest": {"testMatch": []}}', True),
        ("package.json", "{", "[]", True),
        ("jest.config.js", "a", "b", True),
        ("Cargo.toml", "[lib]\n", "[lib]\ntest = false\n", True),
        ("Cargo.toml", "[dependencies]\n", "[dependencies]\na = '1'\n", False),
    ],
)
def test_what_decides_which_tests_run_is_known_by_its_part_of_a_file(
    file: str, before: str, after: str, is_told: bool
) -> None:
    assert collects_tests(file)
    assert changes_collection(file, before, after) is is_told


@pytest.mark.parametrize("at", [18, 19])
async def test_an_edit_after_the_commit_is_refused_without_checks_too(agent: Agent, at: int) -> None:
    await with_tests(agent, TESTS)
    await agent.go_to(at)
    agent.edit("load.py", "raise SystemExit\n")
    (agent.workspace / "build.log").write_text("left by a build\n")
    await agent.step()
    assert "load.py differ from what is committed, which is judged and merged" in problems(agent)
    assert "build.log" not in problems(agent)
    git(agent.workspace, "checkout", "load.py")
    assert (await agent.finish())["outcome"] == "completed"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("it('loads', () => {", "xit('loads', () => {", "1 test removed or renamed (loads), 0 new; 1 skip added"),
        ("func TestLoad(t *testing.T) {", "func Load(t *testing.T) {", "1 test removed or renamed (TestLoad), 0 new"),
        ("#[test]\nfn loads() {", "fn loads() {", "1 test removed or renamed (loads), 0 new"),
        ("#[test]", "", "1 test removed or renamed (one that has lost its attribute), 0 new"),
        ("@Test\npublic void loads() {", "public void loads() {", "1 test removed or renamed (loads), 0 new"),
        ("", "@pytest.mark.skip(reason='x')", "1 skip added"),
        ("", "    t.Skip()", "1 skip added"),
        ("", "//go:build never", "1 skip added"),
        ("    assert load()\n    assert fetch()", "    assert load()", "1 assertion fewer"),
        ("def test_a():", "def test_b():", "1 test removed or renamed (test_a), 1 new"),
        ("def test_a():", "async def test_a(x):", ""),
        ("class TestLoad:", "class LoadCases:", "1 test removed or renamed (TestLoad), 0 new"),
    ],
)
def test_what_is_lost_is_counted(old: str, new: str, said: str) -> None:
    before, after = ([("t", line) for line in text.split("\n")] for text in (old, new))
    told = compared(before, after).sentence
    assert (said in told) if said else not told
