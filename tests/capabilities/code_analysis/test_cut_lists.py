"""Lists of an answer that are cut say how many there are: «8 of 12», and «more than» where nobody counted further."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.capabilities.code_analysis.answers.uses import MAX_CALLERS, MAX_TESTS
from actors.capabilities.code_analysis.evidence.claims import Claim, cut_to, with_total
from runtime.codebase.citation import ToolResult
from runtime.codebase.codebase import Codebase
from runtime.codebase.index.writer import refresh
from runtime.codebase.tools.symbol_usage import explore_symbol_usage
from tests.capabilities.code_analysis.support import AnalysisHarness, cited, write_files

DEFINITION = 'def weigh_parcel(parcel):\n    """Return the weight of a parcel."""\n    return len(parcel)\n'


def callers(count: int, file: str = "scale") -> dict[str, str]:
    """Return a package in which so many functions call one, and nothing else does."""
    imports = "from relay.weights import weigh_parcel\n\n\n"
    calling = "\n\n".join(f"def {file}_{n}(parcel):\n    return weigh_parcel(parcel) + {n}\n" for n in range(count))
    return {"relay/__init__.py": "", "relay/weights.py": DEFINITION, f"relay/{file}.py": imports + calling}


def explored(folder: Path, files: dict[str, str]) -> ToolResult:
    refresh(write_files(folder / "repo", files), folder / "index.sqlite")
    codebase = Codebase.open(folder / "repo", folder / "index.sqlite")
    result = explore_symbol_usage(codebase, "weigh_parcel", max_results=10)
    codebase.close()
    return result


def claims(count: int) -> list[Claim]:
    return [Claim("caller", f"`f{n}`", (cited("a.py", n + 1, n + 1),)) for n in range(count)]


@pytest.mark.parametrize(("found", "heading"), [(7, "**Used by**"), (8, "**Used by**"), (9, "**Used by** (8 of 9)")])
async def test_callers_beyond_the_eighth_are_counted(tmp_path: Path, found: int, heading: str) -> None:
    desk = await AnalysisHarness.open(write_files(tmp_path / "repo", callers(found)), tmp_path / "state")
    document = await desk.ask("Who calls weigh_parcel?")
    assert f"\n{heading}\n" in document["answer"]
    assert document["answer"].count("return weigh_parcel(parcel)") == min(found, MAX_CALLERS)


async def test_what_the_search_itself_cut_is_more_than_what_it_counted(tmp_path: Path) -> None:
    desk = await AnalysisHarness.open(write_files(tmp_path / "repo", callers(60)), tmp_path / "state")
    document = await desk.ask("Who calls weigh_parcel?")
    assert "**Used by** (8 of more than 50)" in document["answer"]


async def test_tests_beyond_the_fourth_are_counted(tmp_path: Path) -> None:
    tests = (f"def test_weight_{n}():\n    assert weigh_parcel('x' * {n}) == {n}\n" for n in range(MAX_TESTS + 2))
    text = "from relay.weights import weigh_parcel\n\n\n" + "\n\n".join(tests)
    files = callers(1) | {"tests/test_weights.py": text}
    desk = await AnalysisHarness.open(write_files(tmp_path / "repo", files), tmp_path / "state")
    document = await desk.ask("Who calls weigh_parcel?")
    assert f"**Tests** ({MAX_TESTS} of {MAX_TESTS + 2})" in document["answer"]


@pytest.mark.parametrize(("found", "cut"), [(9, []), (10, []), (11, ["callers"])])
def test_the_tool_names_the_parts_that_it_cut(tmp_path: Path, found: int, cut: list[str]) -> None:
    result = explored(tmp_path, callers(found))
    assert result.data.get("has_more", []) == cut
    assert result.truncated == bool(cut)
    assert len(result.data["callers"]) == min(found, 10)


def test_calls_that_were_not_looked_up_may_be_of_tests_or_not(tmp_path: Path) -> None:
    result = explored(tmp_path, callers(60))
    assert {"callers", "tests"} <= set(result.data["has_more"])


@pytest.mark.parametrize(("found", "of"), [(0, []), (2, [0, 0]), (3, [0, 0, 0]), (4, [4, 4, 4])])
def test_only_the_claims_of_a_cut_list_tell_its_length(found: int, of: list[int]) -> None:
    assert [claim.of for claim in cut_to(claims(found), 3)] == of


def test_a_list_that_was_cut_before_tells_its_length_even_if_all_of_it_is_shown() -> None:
    told = cut_to(claims(2), 3, more=True)
    assert [(claim.of, claim.more) for claim in told] == [(2, True), (2, True)]
    assert cut_to(claims(4), -1) == []
    assert with_total(claims(2), 2) == claims(2)
