"""Steps that were only gone through are not taken: documents nobody sought, an analysis of nothing, flags unsaid."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.contracts.answers import standing
from runtime.contracts.session_state import ToolUse
from tests.runtime.contracts.session_player import PAYLOADS, Player

WITHOUT_SYMBOLS = {**PAYLOADS["QUERY_FRAME"], "target_symbols": []}


def at_impact(payload: dict[str, Any]) -> Player:
    """Return a session that is to tell the impact of its change, with that frame of its query."""
    player = Player(gate_level="full").go_to("QUERY_FRAME")
    player.submit(payload)
    return player.go_to("IMPACT_ANALYSIS")


def analysed(player: Player, *targets: str) -> str:
    """Have targets analysed, tell the impact, and return what is wrong with it."""
    use = ToolUse("analyze_impact", player.state.visit, "impact", targets)
    player.state = player.state.with_use(use, {"docs/rules.md": ((1, 9),)})
    return " ".join(player.submit(tools=()).problems)


def test_documents_must_be_looked_for_before_there_are_none() -> None:
    player = Player().go_to("DOCUMENT_RESEARCH")
    told = player.submit(tools=())
    assert "call search_files" in told.problems[0]
    assert not player.submit(tools=("search_files",)).code


def test_documents_that_were_read_need_no_search_before() -> None:
    player = Player().go_to("DOCUMENT_RESEARCH")
    player.use("read_code")
    assert not player.submit(tools=(), documents_reviewed=["load.py"]).code


@pytest.mark.parametrize("target", ["docs/rules.md", "other/module.py"])
def test_an_analysis_of_documents_or_of_unexplored_files_is_none_where_the_query_names_no_symbol(target: str) -> None:
    assert "it was called for no code of this change" in analysed(at_impact(WITHOUT_SYMBOLS), target)


@pytest.mark.parametrize("target", ["load.py", "fetch", "Net.fetch"])
def test_an_analysis_of_an_explored_file_or_of_a_symbol_counts_where_the_query_names_none(target: str) -> None:
    assert not analysed(at_impact(WITHOUT_SYMBOLS), target)


def test_documents_alone_are_enough_where_nothing_else_was_explored() -> None:
    player = at_impact(WITHOUT_SYMBOLS)
    player.state = player.state.with_(explored=("docs/rules.md",))
    assert not analysed(player, "docs/rules.md")


def test_an_analysis_of_another_symbol_is_none_where_the_query_names_one() -> None:
    player = at_impact(dict(PAYLOADS["QUERY_FRAME"]))
    assert "call it for load, or its file" in analysed(player, "fetch")


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["fast"], "fast left out EXPLORATION, Q1, SEMANTIC, Q2, VERIFICATION, Q3, IMPACT_ANALYSIS, QUALITY_REVIEW"),
        (["no_verify", "no_quality"], "no_verify left out POST_IMPL_VERIFY, VERIFY_INTERVENTION; no_quality left out"),
    ],
)
def test_what_flags_left_out_is_told_with_the_merge_and_at_the_end(flags: list[str], told: str) -> None:
    player = Player(flags=flags)
    player.go_to("READY_PLANNING")
    assert "left_out" not in standing(player.contract, player.state)
    player.go_to("MERGE")
    assert standing(player.contract, player.state)["left_out"].startswith(told)
    player.submit()
    assert standing(player.contract, player.state)["left_out"].endswith("Tell the person, unless they asked for it")


def test_a_session_without_flags_left_nothing_out() -> None:
    player = Player().go_to("MERGE")
    assert "left_out" not in standing(player.contract, player.state)


@pytest.mark.parametrize("count", [-1, -5])
def test_a_count_of_compactions_below_zero_recalls_the_summaries_and_is_not_taken_over(count: int) -> None:
    player = Player().go_to("EXPLORATION")
    decided = player.submit(count=count)
    assert (decided.is_recalled, player.state.compaction_count) == (True, 0)
