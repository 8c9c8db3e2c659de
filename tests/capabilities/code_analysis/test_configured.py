"""Where a thing is configured: values by their names, attributes with the defaults of their class."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.capabilities.code_analysis.support import FILES, AnalysisHarness, mark_faults, write_files
from tests.repositories import repository_files

YARD = {**FILES, **repository_files("yard")}


@pytest.fixture
async def desk(tmp_path: Path) -> AnalysisHarness:
    write_files(tmp_path / "repo", YARD)
    return await AnalysisHarness.open(tmp_path / "repo", tmp_path / "state")


async def asked(desk: AnalysisHarness, question: str) -> str:
    document = await desk.ask(question)
    assert not mark_faults(document["answer"], document["citations"])
    assert not document["open_goals"]
    return str(document["answer"])


async def test_a_setting_is_found_by_the_words_of_its_name(desk: AnalysisHarness) -> None:
    answer = await asked(desk, "Where is the maximum number of carts configured?")
    assert answer.startswith("`MAX_CARTS` is a constant in `yard/limits.py`")
    assert "MIN_WHEELS" not in answer.partition("**See also**")[0]


async def test_an_attribute_comes_with_the_default_of_its_class_and_without_what_has_less_of_the_words(
    desk: AnalysisHarness,
) -> None:
    answer = await asked(desk, "Where is the creak url configured?")
    assert answer.startswith("`Gate.creak_url` is an attribute in `yard/gate.py`")
    configured = answer.partition("**Where it is configured**")[2].partition("**")[0]
    assert '`Gate.__init__`: `def __init__(self, *, stray=None, creak_url: str = "/creak"):`' in configured
    assert "Sign" not in configured


async def test_of_attributes_of_one_name_that_of_a_class_for_options_leads(desk: AnalysisHarness) -> None:
    answer = await asked(desk, "Where is the stray option configured?")
    assert answer.startswith("`GateOptions.stray` is an attribute in `yard/options.py`")
    assert "`Gate.stray`, an attribute" in answer


async def test_a_field_that_no_grammar_defines_is_told_by_the_lines_that_set_it(desk: AnalysisHarness) -> None:
    answer = await asked(desk, "Where is the glow setting configured?")
    assert "`Lamp.constructor`: `this.glow = options.glow || 1;` [yard/lamp.js:3]" in answer
