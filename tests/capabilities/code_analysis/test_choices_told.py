"""Answers to questions for all values of a closed set, and which questions ask for one."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.capabilities.code_analysis.answers.confidence import FEATURES, WITH_CHOICES, bounds_of_presence, trust_in
from actors.capabilities.code_analysis.answers.evidence import Evidence
from actors.capabilities.code_analysis.answers.lists.choices import MAX_CHOICES, MAX_NAMED, choice_claims
from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.question.analysis import analyse
from actors.capabilities.code_analysis.question.choice_wording import choices_asked
from runtime.codebase.citation import Citation
from tests.capabilities.code_analysis.support import AnalysisHarness, mark_faults, write_files


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("What compression modes are there?", "compression modes"),
        ("Which compression modes are supported?", "compression modes"),
        ("Which compression modes exist in this project?", "compression modes"),
        ("What are the allowed compression modes?", "compression modes"),
        ("what are all compression modes", "compression modes"),
        ("List all compression modes", "compression modes"),
        ("Please list the compression modes.", "compression modes"),
        ("Which compression modes does it support?", "compression modes"),
        ("Which compression modes can I choose from?", "compression modes"),
        ("Which compression modes can be set?", "compression modes"),
        ("Which modes are available for compression?", "compression modes"),
        ("Which versions of Postgres are supported?", "Postgres versions"),
        ("What are the possible states of a circuit breaker?", "circuit breaker states"),
        (
            "What are the possible states of a circuit breaker in this project?",
            "circuit breaker states",
        ),
        ("What are the built-in filters of this project?", "filters"),
        ("which values does the `JobState` enum have?", "values of JobState"),
        ("I make backups. Which compression modes can I pick from?", "compression modes"),
        ("What states can a job be in?", "job states"),
        ("What statuses can a print job have?", "print job statuses"),
        ("What kinds of errors can it return?", "errors"),
        ("What kinds of token does the lexer know?", "token"),
        ("Which HTTP methods does it support?", "HTTP methods"),
        ("Which values can --pretty take?", "--pretty"),
        ("What options does --style have?", "--style"),
        ("What can --style be set to?", "--style"),
        ("What are the valid values for -m?", "-m"),
        ("Which values does SameSite accept?", "values of SameSite"),
        ("What are the possible values of the compression option?", "values of compression"),
        ("What values may the `coalesce` parameter of add() have?", "values of coalesce"),
        ("List the possible values of `RunState`", "values of RunState"),
        ("What can the log level be set to?", "values of log level"),
    ],
)
def test_a_question_for_all_values_says_which_set_it_means(question: str, asked: str) -> None:
    assert choices_asked(question) == asked


@pytest.mark.parametrize(
    "question",
    [
        "What does --pretty do?",
        "How is --style parsed?",
        "What is the default timeout?",
        "Which characters are escaped?",
        "Which functions are there?",
        "List all tests",
        "Which values can it take?",
        "Where are the compression modes defined?",
        "How many compression modes are there?",
        "What happens when a job fails?",
        "Which database does it use?",
        "Which libraries does it depend on?",
        "What are the main parts?",
        "Which mode is the fastest?",
        "What parts does it have?",
        "What are its states?",
        "Which HTTP methods can have a body?",
        "Which option decides if errors are allowed?",
        "Which environment variables are understood?",
        "What are the abstractions on which everything else in here is built?",
        "",
    ],
)
def test_any_other_question_asks_for_none(question: str) -> None:
    assert choices_asked(question) == ""


@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    assert isinstance(choices_asked(text), str)


def test_a_long_question_is_read_in_no_time() -> None:
    for text in ("which " + "a " * 200_000, "what are the " * 100_000, "what " + "a-" * 300_000, "? " * 300_000):
        choices_asked(text)


def fact(kind: str, name: str, line: int, *, of: int = 0, kind_of_set: str = "", **more: object) -> CodeFact:
    where = Citation("modes.py", line, line, f"{name} = 1")
    return CodeFact(kind, where, name=name, symbol_kind=kind_of_set, about="Mode of modes.py", of=of, **more)  # type: ignore[arg-type]


def told(*facts: CodeFact) -> list[str]:
    claims = choice_claims(Evidence(analyse("Which modes are there?"), list(facts), []))
    return [claim.text for claim in claims]


def test_a_set_is_told_with_its_values_and_what_is_said_of_them() -> None:
    facts = [
        fact("choices", "Mode", 1, of=2, kind_of_set="enum"),
        fact("choice", "FAST", 2, signature="'f'", docstring="At once."),
        fact("choice", "SLOW", 3, signature="auto()"),
    ]
    assert told(*facts) == ["**`Mode` has 2 values**", "`FAST` = `'f'` — At once.", "`SLOW`"]


@pytest.mark.parametrize(
    ("facts", "text"),
    [
        ([fact("choices", "--m", 1, of=1, kind_of_set="option")], "**`--m` takes 1 value**"),
        ([fact("choices", "MODES", 1, of=1, kind_of_set="keys")], "**`MODES` has 1 key**"),
        ([fact("choices", "MODES", 1, of=4, kind_of_set="list")], "**`MODES` has 4 entries** (1 of 4)"),
        (
            [fact("choices", "M", 1, of=1, kind_of_set="keys", more=True)],
            "**`M` has 1 key** where it is declared, and may take more from elsewhere",
        ),
        (
            [
                fact("choices", "M", 1, of=1, kind_of_set="keys", more=True),
                fact("choices", "M", 9, kind_of_set="added"),
            ],
            "**`M` has 1 key** where it is declared, and code adds more to it",
        ),
        (
            [fact("choices", "M", 1, of=1, kind_of_set="keys"), fact("choices", "--m", 9, kind_of_set="from")],
            "**`--m` takes the 1 key of `M`**",
        ),
    ],
)
def test_what_a_set_is_and_whether_it_is_whole_is_said(facts: list[CodeFact], text: str) -> None:
    assert told(*facts, fact("choice", "a", 2))[0] == text


@pytest.mark.parametrize("count", [MAX_CHOICES - 1, MAX_CHOICES, MAX_CHOICES + 1, 40])
def test_so_many_values_are_told_and_of_more_how_many_there_are(count: int) -> None:
    head, *values = told(
        fact("choices", "Mode", 1, of=count, kind_of_set="enum"),
        *(fact("choice", f"M{n}", n + 2) for n in range(count)),
    )
    assert len(values) == min(count, MAX_CHOICES)
    assert head.endswith(f"(30 of {count})") is (count > MAX_CHOICES)


@pytest.mark.parametrize("count", [MAX_NAMED - 1, MAX_NAMED, MAX_NAMED + 1])
def test_an_option_that_lists_them_too_is_told_in_one_sentence(count: int) -> None:
    first = [fact("choices", "Mode", 1, of=1, kind_of_set="enum"), fact("choice", "FAST", 2)]
    other = [
        fact("choices", "mode", 8, of=count, kind_of_set="option"),
        *(fact("choice", f"m{n}", 8) for n in range(count)),
    ]
    texts = told(*first, *(msgspec.structs.replace(each, about="mode of cli.py") for each in other))
    assert texts[-1].startswith("The option `mode` takes `m0`, `m1`")
    assert texts[-1].endswith(" …") is (count > MAX_NAMED)


def test_without_values_nothing_is_told() -> None:
    assert told() == told(fact("choices", "Mode", 1, of=2, kind_of_set="enum")) == []


def test_a_set_that_is_told_is_there() -> None:
    absent = {**dict.fromkeys(FEATURES, 0.0), "familiar": 0.1, "choices": 1.0}
    assert bounds_of_presence(absent) == ["choices"]
    assert trust_in(absent).presence == trust_in(absent).confidence == WITH_CHOICES
    assert trust_in({**absent, "choices": 0.0}).presence < 0.5


FILES = {
    "press/modes.py": (
        '"""How presses go."""\n\nfrom enum import Enum\n\n\nclass PressMode(Enum):\n    """How a press goes."""\n\n'
        "    FAST = 'f'  # at once\n    SLOW = 's'\n\n\nSTYLE_MAP = {\n    'plain': 1,\n    'bold': 2,\n}\n"
    ),
    "press/cli.py": (
        '"""The program."""\n\nfrom press.modes import STYLE_MAP\n\n\ndef options(parser):\n    """Declare some."""\n'
        '    parser.add_argument("--style", choices=sorted(STYLE_MAP.keys()))\n'
    ),
    "press/errors.py": (
        '"""What goes wrong."""\n\n\nclass InkError(Exception):\n    """No ink."""\n\n\nclass PaperError(Exception):\n'
        '    """No paper."""\n\n\nclass JamError(Exception):\n    """A jam."""\n'
    ),
}


@pytest.fixture
async def press(tmp_path: Path) -> AnalysisHarness:
    root = tmp_path / "repo"
    write_files(root, FILES)
    return await AnalysisHarness.open(root, tmp_path / "state")


@pytest.mark.parametrize(
    ("question", "lines"),
    [
        (
            "Which press modes are there?",
            ["**`PressMode` has 2 values** [press/modes.py:6]", "- `FAST` = `'f'` — at once [press/modes.py:9]"],
        ),
        (
            "What modes can a press have?",
            ["**`PressMode` has 2 values** [press/modes.py:6]", "- `SLOW` = `'s'` [press/modes.py:10]"],
        ),
        (
            "Which values can --style take?",
            [
                "**`--style` takes the 2 keys of `STYLE_MAP`** [press/cli.py:8] [press/modes.py:13]",
                "- `plain` = `1` [press/modes.py:14]",
            ],
        ),
    ],
)
async def test_all_values_are_told_each_with_its_line(press: AnalysisHarness, question: str, lines: list[str]) -> None:
    document = await press.ask(question)
    assert (document["status"], document["confidence"]) == ("answered", WITH_CHOICES)
    assert all(line in document["answer"].split("\n") for line in lines)
    assert mark_faults(document["answer"], document["citations"]) == []


async def test_what_is_no_closed_set_is_listed_as_before(press: AnalysisHarness) -> None:
    answer = (await press.ask("List all exceptions"))["answer"]
    assert "values**" not in answer
    assert all(name in answer for name in ("InkError", "PaperError", "JamError"))
