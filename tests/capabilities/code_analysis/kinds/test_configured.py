"""Where a thing is configured: values by their names, attributes with the defaults of their class."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.capabilities.code_analysis.answers.wording import sets_a_value
from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.kinds.configured import CONFIGURING_BONUS, KIND, VALUE_BONUS
from actors.capabilities.code_analysis.question.analysis import analyse
from tests.capabilities.code_analysis.kinds.asking import planned, told_of
from tests.capabilities.code_analysis.support import FILES, AnalysisHarness, cited, mark_faults, write_files
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


@pytest.mark.parametrize(
    "text",
    [
        "Where is the port configured?",
        "How is the port configured?",
        "Which environment variable is read for the port?",
        "Where is `depth` set?",
    ],
)
def test_it_is_told_by_its_wording(text: str) -> None:
    assert analyse(text).kind == KIND.name


@pytest.mark.parametrize(
    "text",
    [
        "Where is the port read?",
        "How does it work and where is it configured?",
        "Where is depth set?",
    ],
)
def test_what_only_sounds_like_it_is_of_another_kind(text: str) -> None:
    assert analyse(text).kind != KIND.name


def test_how_a_named_thing_works_and_is_configured_is_asked_of_both_kinds() -> None:
    assert analyse("How does `Login` work and where is it configured?").aspects[-1] == "configuration"


def test_settings_and_values_are_searched_for_their_goal_alone() -> None:
    steps = {step.id: step for step in planned("Where is `DEPTH` set?")}
    assert steps["config"].goals == steps["values"].goals == ("configuration",)


def test_a_value_that_speaks_of_settings_gains_twice_and_by_the_search_for_values() -> None:
    value = CodeFact(
        "definition", cited("settings.py", 3), name="DEPTH", symbol_kind="constant", score=1.0, purpose="values"
    )
    assert KIND.bonus is not None
    gained = KIND.bonus(analyse("Where is `depth` set?"), value, [value], {})
    assert gained == pytest.approx(2 * CONFIGURING_BONUS + VALUE_BONUS)


async def test_a_setting_is_found_by_the_words_of_its_name(desk: AnalysisHarness) -> None:
    answer = await asked(desk, "Where is the maximum number of carts configured?")
    assert answer.startswith("`yard/limits.py`: «How many carts may stand in the yard.» [yard/limits.py:1-3]")
    assert "```\nMAX_CARTS = 12\n```" in answer
    assert "MIN_WHEELS" not in answer


async def test_an_attribute_comes_with_the_default_of_its_class_and_without_what_has_less_of_the_words(
    desk: AnalysisHarness,
) -> None:
    answer = await asked(desk, "Where is the creak url configured?")
    assert answer.startswith("`Gate` in `yard/gate.py` [yard/gate.py:1-11]")
    shown = answer.split("```")[1]
    assert 'def __init__(self, *, stray=None, creak_url: str = "/creak"):' in shown
    assert "Sign" not in shown


async def test_the_default_of_a_named_attribute_is_told_by_the_lines_that_give_it(desk: AnalysisHarness) -> None:
    answer = await asked(desk, "Where is `creak_url` configured?")
    assert '`Gate.__init__`: `def __init__(self, *, stray=None, creak_url: str = "/creak"):`' in answer
    assert "Sign" not in answer


async def test_of_attributes_of_one_name_that_of_a_class_for_options_leads(desk: AnalysisHarness) -> None:
    answer = await asked(desk, "Where is the stray option configured?")
    assert answer.startswith("`GateOptions` in `yard/options.py`")
    assert 'self.stray = getattr(meta, "stray", "keep")' in answer.split("```")[1]
    assert "`Gate` [yard/gate.py:1-11]" in answer
    assert "def __init__(self, *, stray=None" in answer.split("```")[-2]


async def test_a_setting_of_an_object_is_shown_where_it_is_given_its_value(desk: AnalysisHarness) -> None:
    document = await desk.ask("Where is the glow setting configured?")
    assert document["answer"].startswith("`Lamp` in `yard/lamp.js` [yard/lamp.js:1-9]")
    assert "this.glow = options.glow || 1;" in document["answer"].split("```")[1]
    assert not mark_faults(document["answer"], document["citations"])


async def test_a_named_field_that_no_grammar_defines_is_told_by_the_line_that_sets_it(desk: AnalysisHarness) -> None:
    answer = await asked(desk, "Where is `glow` set?")
    assert "`Lamp.constructor`: `this.glow = options.glow || 1;` [yard/lamp.js:3]" in answer


async def test_the_lines_that_set_an_attribute_answer_where_it_is_set(tmp_path: Path) -> None:
    files = {
        "shop/till.py": "class Till:\n    def __init__(self):\n        self._is_open = False\n\n"
        "    def unlock(self):\n        self._is_open = True\n\n"
        "    def sell(self):\n        if self._is_open:\n            return 1\n",
        "shop/doors.py": "def is_open_door(door):\n    return door.is_open\n",
    }
    write_files(tmp_path / "repo", files)
    told = await told_of(await AnalysisHarness.open(tmp_path / "repo", tmp_path / "state"), "Where is `_is_open` set?")
    assert "`self._is_open = False` [shop/till.py:3]" in told
    assert "`self._is_open = True` [shop/till.py:6]" in told
    assert "if self._is_open" not in told


async def test_where_a_named_setting_gets_its_value_is_told_by_line(vehicles: AnalysisHarness) -> None:
    told = (await told_of(vehicles, "Where is DEPOT_LIMIT configured?")).partition("**Where it is configured**")[2]
    assert '`"DEPOT_LIMIT": 10,` [relay/defaults.py:2]' in told
    assert "too low" not in told


@pytest.mark.parametrize(
    ("line", "does"),
    [
        ("PORT = 1", True),
        ('"port": 1,', True),
        ("port: 80", True),
        ("port := 80", True),
        ("port: int = 80", True),
        ('os.environ["PORT"]', True),
        ("process.env.get('PORT')", True),
        ("if port == 80:", False),
        ("if self.port:", False),
        ("# PORT = 1", False),
        ("// port = 1", False),
        ("connect(port)", False),
        ("support = 1", False),
    ],
)
def test_a_line_sets_a_value_or_merely_uses_it(line: str, does: bool) -> None:
    assert sets_a_value(line, "PORT") is does
