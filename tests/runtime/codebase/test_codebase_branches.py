from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.codebase.codebase import Codebase
from runtime.codebase.search.branches import branch_for, case_of
from runtime.codebase.tools.locate import locate
from runtime.codebase.tools.symbol_usage import explore_symbol_usage
from tests.repositories import repository_files
from tests.runtime.codebase.sample_repository import write_files

BAKERY = repository_files("bakery")
WORKERS = repository_files("workers")


@pytest.mark.parametrize(
    "question", ["How is a loaf baked?", "Where does it happen when a recipe returns None?", "", "?"]
)
def test_only_who_asks_what_happens_asks_for_a_case(question: str) -> None:
    assert case_of(question) is None


@pytest.mark.parametrize(
    ("question", "code"),
    [
        (
            "What happens when a view returns null?",
            "if (view.result === null) {\n  throw new Error('view returned');\n}",
        ),
        (
            "What happens when a recipe is missing?",
            'if name not in recipes:\n    raise KeyError(f"no such recipe {name}")',
        ),
        ("What happens when an oven times out?", "oven.ontimeout = () => {\n  reject(new Error('oven timeout'));\n};"),
        ("What happens when the dough is too large?", "if len(dough) > max_dough {\n\treturn errors.New(dough)\n}"),
        ("What happens when the oven raises?", "try:\n    oven.bake()\nexcept OvenError:\n    handle_error(oven)"),
        ("What happens if the list is empty?", "if len(list) == 0 {\n\treturn nil\n}"),
        ("What happens when a loaf is unknown?", 'match loaf {\n    case _:\n        raise Bad("unknown loaf")'),
    ],
)
def test_a_branch_meets_the_case_that_its_code_words_otherwise(question: str, code: str) -> None:
    case = case_of(question)
    assert case is not None
    found = branch_for(case, ["start()", *code.split("\n"), "other(1)"], 10)
    assert found is not None
    assert 10 < found.start_line <= found.end_line <= 10 + code.count("\n") + 1


def test_words_that_say_the_state_twice_are_no_words_of_the_thing() -> None:
    case = case_of("What happens when a loaf throws an error?")
    assert case is not None
    assert case.words == {"loaf"}


def test_an_unknown_thing_is_not_an_unexpected_one() -> None:
    case = case_of("What happens when a loaf is unknown?")
    assert case is not None
    assert branch_for(case, ["if loaf.late:", "    raise Bad('unexpected loaf')"], 1) is None
    told = branch_for(case, ["    let answer = Frame::Error(format!(\"unknown loaf '{}'\", name));"], 1)
    assert told is not None
    assert told.share == 1


def test_a_branch_that_meets_far_less_of_the_case_than_another_is_not_told_as_one(
    root: Path, opened: Callable[[Path], Codebase]
) -> None:
    write_files(
        root,
        {
            "oven.py": "def bake_loaf(loaf):\n    try:\n        loaf.rise()\n    except LoafError as error:\n"
            "        throw(loaf, error)\n\n\ndef throw_error(error):\n    if not error:\n"
            "        raise TypeError('throw an error')\n    return error\n",
        },
    )
    rows = locate(opened(root), "What happens when a loaf throws an error?").data["results"]
    told = {row["symbol"]: row.get("branch") for row in rows}
    assert rows[0]["symbol"] == "bake_loaf"
    assert told["bake_loaf"] == [4, 5]
    assert told.get("throw_error") is None


def test_a_branch_for_another_state_does_not_meet_the_case() -> None:
    case = case_of("What happens when a recipe returns None?")
    assert case is not None
    assert branch_for(case, ["if recipe is True:", "    raise TypeError(recipe)"], 1) is None
    assert branch_for(case, ["# if the recipe returned None: raise", "recipe = None"], 1) is None
    assert branch_for(case, ["if oven is None:", "    heat()"], 1) is None


@given(st.text(), st.lists(st.text(alphabet="if none raise:#\t ()x", max_size=20)), st.integers(1, 1000))
def test_a_branch_lies_within_the_lines_that_were_given(said: str, lines: list[str], first: int) -> None:
    case = case_of("what happens when " + said)
    found = branch_for(case, lines, first) if case else None
    if found is not None:
        assert first <= found.start_line <= found.end_line < first + len(lines)
        assert 0.5 <= found.share <= 1


def test_what_happens_leads_to_the_branch_for_the_case(root: Path, opened: Callable[[Path], Codebase]) -> None:
    write_files(root, BAKERY)
    best, other = locate(opened(root), "What happens when a recipe returns None?").data["results"][:2]
    assert best["symbol"] == "Oven.finish"
    assert best["branch"] == [14, 15]
    assert "branch" not in other or other["symbol"].startswith("Oven")


def test_what_stands_in_a_module_of_tests_is_a_test_and_no_caller(
    root: Path, opened: Callable[[Path], Codebase]
) -> None:
    write_files(root, WORKERS)
    codebase = opened(root)
    assert locate(codebase, "How is a worker spawned?").data["results"][0]["symbol"] == "spawn_worker"
    used = explore_symbol_usage(codebase, "spawn_worker").data
    assert not used["callers"]
    assert {row["enclosing"] for row in used["tests"]} == {"tests.spawn_worker_twice"}


def test_a_call_means_no_function_of_a_language_that_is_a_stranger(
    root: Path, opened: Callable[[Path], Codebase]
) -> None:
    write_files(root, {**WORKERS, "src/pool.rs": WORKERS["src/pool.rs"].replace("fn start(name: &str) {}", "")})
    assert all(
        row["file"] != "web/pool.js" for row in explore_symbol_usage(opened(root), "spawn_worker").data["callees"]
    )
