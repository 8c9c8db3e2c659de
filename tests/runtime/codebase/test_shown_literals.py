"""Which literals of a place are told for a question that asks for a value, and which are not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runtime.codebase.codebase import Codebase
from runtime.codebase.tools.locate import locate
from tests.runtime.codebase.sample_repository import write_files

MANY = "How many bobbins does the loom hold?"
WAIT = "How long does the loom wait for a shuttle?"
DEFAULT = "What is the default tension of the loom?"
TRIES = "How many times does the loom try to thread a bobbin before giving up?"
LAYOUT = "Which pattern of the loom is used when I give none?"


def literals_of(
    opened: Callable[[Path], Codebase], root: Path, file: str, code: str, question: str
) -> list[dict[str, Any]]:
    write_files(root, {file: code, "other/spin.py": "def spin(wheel):\n    return wheel.turn()\n"})
    codebase = opened(root)
    result = locate(codebase, question, 12)
    found: list[dict[str, Any]] = []
    for row in result.data["results"]:
        for one in row.get("literals", ()):
            citation = result.citations[one["citation"]]
            cited = codebase.read_lines(citation.file, citation.start_line, citation.end_line)
            assert one["text"] == cited[-1].strip() and one["value"] in cited[-1]
            assert any(one["subject"] in line for line in cited)
            found.append(one)
    return found


def told(opened: Callable[[Path], Codebase], root: Path, file: str, code: str, question: str) -> list[tuple[str, ...]]:
    return [(one["form"], one["subject"], one["value"]) for one in literals_of(opened, root, file, code, question)]


def in_java(line: str) -> str:
    return f"class Loom {{\n    int weave(int bobbins, Map loom) {{\n        {line}\n    }}\n}}\n"


@pytest.mark.parametrize(
    ("file", "code", "question", "expected"),
    [
        ("loom.py", 'LOOM = {\n    "bobbins": 64,\n}\n', MANY, ("entry", '"bobbins"', "64")),
        ("loom.js", "const loom = {\n  bobbins: 64,\n}\n", MANY, ("entry", "bobbins", "64")),
        ("loom.ts", "export const loom = {\n  bobbins: 64,\n}\n", MANY, ("entry", "bobbins", "64")),
        ("loom.go", "package loom\n\nvar loom = Loom{\n\tbobbins: 64,\n}\n", MANY, ("entry", "bobbins", "64")),
        ("loom.rb", "LOOM = {\n  bobbins: 64,\n}\n", MANY, ("entry", "bobbins", "64")),
        ("loom.php", "<?php\n$loom = [\n  'bobbins' => 64,\n];\n", MANY, ("entry", "'bobbins'", "64")),
        ("Loom.java", in_java('return Map.of("bobbins", 64);'), MANY, ("entry", '"bobbins"', "64")),
        ("Loom.kt", 'fun loom() {\n    val of = mapOf("bobbins" to 64)\n}\n', MANY, ("entry", '"bobbins"', "64")),
        ("loom.c", "struct loom loom = {\n  .bobbins = 64,\n};\n", MANY, ("entry", "bobbins", "64")),
        ("loom.cpp", 'std::map<S, int> loom = {\n  {"bobbins", 64},\n};\n', MANY, ("entry", '"bobbins"', "64")),
        (
            "loom.rs",
            "fn loom() -> Loom {\n    Loom {\n        bobbins: 64,\n    }\n}\n",
            MANY,
            ("entry", "bobbins", "64"),
        ),
        ("loom.c", "/* bobbins of the loom */\n#define LOOM_BOBBINS 64\n", MANY, ("constant", "LOOM_BOBBINS", "64")),
        (
            "loom.py",
            "def loom(bobbins):\n    if len(bobbins) > 255:\n        raise Full()\n",
            MANY,
            ("test", "len(bobbins) > 255", "255"),
        ),
        ("Loom.java", in_java("if (bobbins > 255) throw new Full();"), MANY, ("test", "bobbins > 255", "255")),
        (
            "loom.py",
            "def loom(thread):\n    for bobbin in range(5):\n        try_thread(bobbin)\n",
            TRIES,
            ("repeat", "range(5)", "5"),
        ),
        (
            "loom.go",
            "package loom\n\nfunc loom() {\n\tfor bobbin := 0; bobbin < 10000; bobbin++ {\n\t\ttry()\n\t}\n}\n",
            TRIES,
            ("loop", "bobbin < 10000", "10000"),
        ),
        ("loom.rb", "def loom(thread)\n  5.times { |bobbin| try(bobbin) }\nend\n", TRIES, ("repeat", "5.times", "5")),
        (
            "loom.rs",
            "fn loom() {\n    for bobbin in 0..5 {\n        try_thread(bobbin);\n    }\n}\n",
            TRIES,
            ("repeat", "0..5", "5"),
        ),
        (
            "loom.js",
            "function loom(options) {\n  return options.tension ?? 10_000\n}\n",
            DEFAULT,
            ("fallback", "options.tension", "10_000"),
        ),
        (
            "loom.py",
            "def loom(options):\n    return options.get('tension', 5)\n",
            DEFAULT,
            ("fallback", "'tension'", "5"),
        ),
        (
            "loom.py",
            "def loom(options):\n    return getattr(options, 'tension', 3)\n",
            DEFAULT,
            ("fallback", "'tension'", "3"),
        ),
        (
            "Loom.kt",
            "fun loom(tension: Int?): Int {\n    return tension ?: 5\n}\n",
            DEFAULT,
            ("fallback", "tension", "5"),
        ),
        (
            "Loom.java",
            in_java("return loom.getOrDefault(TENSION, 5);"),
            DEFAULT,
            ("fallback", "loom.getOrDefault(TENSION, 5)", "5"),
        ),
        (
            "loom.rs",
            "fn loom(tension: Option<u8>) -> u8 {\n    tension.unwrap_or_else(|| 5)\n}\n",
            DEFAULT,
            ("fallback", "tension", "5"),
        ),
        (
            "loom.rs",
            'fn loom(pattern: Option<&str>) -> &str {\n    pattern.unwrap_or("%Y-%m-%d")\n}\n',
            LAYOUT,
            ("fallback", "pattern", '"%Y-%m-%d"'),
        ),
        (
            "loom.go",
            "package loom\n\nfunc loom(tension int) int {\n\tif tension == 0 {\n\t\ttension = 10\n\t}\n"
            "\treturn tension\n}\n",
            DEFAULT,
            ("fallback", "tension", "10"),
        ),
        (
            "loom.py",
            "def loom(thread, tension=30):\n    return thread.pull(tension)\n",
            DEFAULT,
            ("default", "tension", "30"),
        ),
        (
            "loom.rs",
            "impl Default for Loom {\n    fn default() -> Self {\n        Loom {\n            tension: 7,\n"
            "        }\n    }\n}\n",
            DEFAULT,
            ("default", "tension", "7"),
        ),
        (
            "loom.ts",
            "interface Loom {\n  /**\n   * Tension of the loom.\n   * @default 10000\n   */\n  tension: number\n}\n",
            DEFAULT,
            ("documented", "", "10000"),
        ),
        (
            "loom.py",
            'def loom(tension=None):\n    """Weave.\n\n    tension: of the loom. Default: `5`.\n    """\n    go()\n',
            DEFAULT,
            ("documented", "", "5"),
        ),
        (
            "loom.go",
            "package loom\n\n// Loom waits for a shuttle (default 30s).\nfunc Loom(shuttle Shuttle) {\n\tgo()\n}\n",
            WAIT,
            ("documented", "", "30s"),
        ),
        (
            "loom.py",
            "def loom(shuttle):\n    shuttle.ready()\n    time.sleep(0.5)\n",
            WAIT,
            ("argument", "time.sleep", "0.5"),
        ),
        (
            "loom.js",
            "function loom(shuttle) {\n  return Math.min(shuttle.wait, 30000)\n}\n",
            WAIT,
            ("most", "Math.min(shuttle.wait, 30000)", "30000"),
        ),
    ],
)
def test_a_literal_is_told_with_what_its_line_says_of_it(
    opened: Callable[[Path], Codebase],
    root: Path,
    file: str,
    code: str,
    question: str,
    expected: tuple[str, str, str],
) -> None:
    assert expected in told(opened, root, file, code, question)


def test_all_that_is_told_is_a_bound_of_the_first_lines_at_most_three(
    opened: Callable[[Path], Codebase], root: Path
) -> None:
    code = "LOOM = {\n" + "".join(f'    "bobbins_{name}": {40 + at},\n' for at, name in enumerate("abcdef")) + "}\n"
    found = told(opened, root, "loom.py", code, MANY)
    assert len(found) == 3


@pytest.mark.parametrize(
    "question",
    ["How does the loom thread bobbins?", "Where is the loom?", "Why does the loom hold bobbins?"],
)
def test_nothing_is_told_where_no_value_is_asked_for(
    opened: Callable[[Path], Codebase], root: Path, question: str
) -> None:
    assert told(opened, root, "loom.py", "def loom(bobbins=64):\n    return bobbins\n", question) == []


@pytest.mark.parametrize(
    ("file", "code"),
    [
        ("tests/loom.py", "def loom(bobbins=64):\n    return bobbins\n"),
        ("examples/loom.py", "def loom(bobbins=64):\n    return bobbins\n"),
        ("vendor/loom.py", "def loom(bobbins=64):\n    return bobbins\n"),
        ("generated/loom.py", "def loom(bobbins=64):\n    return bobbins\n"),
        ("loom.rs", "mod tests {\n    fn loom() -> Loom {\n        Loom { bobbins: 64 }\n    }\n}\n"),
    ],
    ids=["test", "example", "vendored", "generated", "module of tests"],
)
def test_nothing_is_told_of_tests_examples_and_code_of_others(
    opened: Callable[[Path], Codebase], root: Path, file: str, code: str
) -> None:
    assert told(opened, root, file, code, MANY) == []


@pytest.mark.parametrize(
    "body",
    [
        "bobbins = 64\n    bobbins = thread.count()",
        "one = {'bobbins': 64}\n    other = {'bobbins': 32}",
        "bobbins = 64\n    bobbins += 1",
        "bobbins = 8 * thread.width",
        "bobbins = count(64, thread)",
        "bobbins = f'{64}'",
        "bobbins = OTHER_BOBBINS",
        "bobbins = 'SELECT 64 FROM bobbins'",
        "warn(thread, stacklevel=2)",
        "bobbins.fetch(64)",
        "weave()  # the default 404 bobbins page",
        "weave()  # it does not default to 64 bobbins",
        "if bobbins > len(thread):\n        pass",
        "if bobbins > 0:\n        pass",
        "bobbins = " + "6" * 200,
        "bobbins = 64  # " + "x" * 500,
        "stitches = 64\n    yarn = 32",
    ],
    ids=[
        "bound again",
        "two things",
        "counted up",
        "arithmetic with a name",
        "call",
        "formatted text",
        "constant",
        "text of words",
        "argument that nobody asks for",
        "what is looked up",
        "no stated default",
        "denied default",
        "compared with no literal",
        "compared with nothing",
        "huge number",
        "huge line",
        "neither name, and not alone",
    ],
)
def test_nothing_is_told_that_does_not_hold_or_says_nothing(
    opened: Callable[[Path], Codebase], root: Path, body: str
) -> None:
    assert told(opened, root, "loom.py", f"def loom(thread):\n    {body}\n    go()\n", MANY) == []


@pytest.mark.parametrize(
    ("code", "question"),
    [
        ("def loom(bobbins):\n    stitches = 64\n    return weave(bobbins, stitches)\n", MANY),
        (
            "def loom(bobbins):\n    top = 2147  # milliseconds that a timer takes\n    return weave(bobbins, top)\n",
            "By how many milliseconds may a shuttle be late by default?",
        ),
    ],
    ids=["the only one", "a unit of time alone"],
)
def test_a_literal_of_which_no_word_of_the_question_is_said_is_not_told(
    opened: Callable[[Path], Codebase], root: Path, code: str, question: str
) -> None:
    assert told(opened, root, "loom.py", code, question) == []


def test_it_may_stand_beyond_the_lines_that_are_shown(opened: Callable[[Path], Codebase], root: Path) -> None:
    body = "    if thread.loom(bobbin):\n        bobbins(thread)\n" * 15
    code = f"def loom(thread):\n{body}\n" + "    go(thread)\n" * 10 + "    return 64\n"
    assert told(opened, root, "loom.py", code, MANY) == [("returned", "64", "64")]


def test_a_comparison_says_nothing_of_what_holds_by_default(opened: Callable[[Path], Codebase], root: Path) -> None:
    code = "def loom(tension):\n    if tension > 40:\n        raise Snapped()\n"
    assert told(opened, root, "loom.py", code, DEFAULT) == []


def test_a_secret_is_not_repeated(opened: Callable[[Path], Codebase], root: Path) -> None:
    code = "def loom(token='hunter2hunter2'):\n    return token\n"
    assert told(opened, root, "loom.py", code, "What is the default token of the loom?") == []


def test_only_while_all_of_a_condition_must_hold_it_bounds_a_loop(
    opened: Callable[[Path], Codebase], root: Path
) -> None:
    for joint, form in (("and", "loop"), ("or", "test")):
        code = f"def loom(bobbin, yarn):\n    while bobbin < 500 {joint} yarn:\n        pull(yarn)\n"
        assert told(opened, root, "loom.py", code, TRIES) == [(form, "bobbin < 500", "500")]


def test_the_one_that_covers_the_question_leads(opened: Callable[[Path], Codebase], root: Path) -> None:
    code = "def loom(bobbins=64, yarn=3):\n    return bobbins\n"
    assert [one["leads"] for one in literals_of(opened, root, "loom.py", code, MANY)] == [True]


def test_what_is_filled_in_is_told_with_the_line_of_its_condition(
    opened: Callable[[Path], Codebase], root: Path
) -> None:
    code = (
        "def loom(tension=None):\n    if tension is None:\n        # as usual\n        tension = 10\n    go(tension)\n"
    )
    write_files(root, {"loom.py": code})
    result = locate(opened(root), DEFAULT, 12)
    one = next(one for row in result.data["results"] for one in row.get("literals", ()))
    citation = result.citations[one["citation"]]
    assert (one["form"], citation.start_line, citation.end_line) == ("fallback", 2, 4)


@pytest.mark.parametrize(
    ("file", "code"),
    [
        ("loom.py", "LOOM = {\n" + "".join(f'    "bobbins{at}": {at},\n' for at in range(1_000)) + "}\n"),
        ("loom.js", "function loom(bobbins) {\n  return " + "(" * 600 + "bobbins > 64" + ")" * 600 + "\n}\n"),
        ("loom.py", "def loom(bobbins):\n    return " + "[" * 150 + "64" + "]" * 150 + "\n"),
        ("loom.py", "def loom(bobbins):\n    # default: \u202e46\u202c bobbins\n    return bobbins\n"),
        ("loom.go", "package loom\n\nfunc loom() {\n" + "\tfor bobbins < 64 {\n" * 400 + "}\n" * 401),
        ("loom.py", "def loom(bobbins):\n" + "    # default: `64` bobbins\n" * 200 + "    return bobbins\n"),
        ("loom.js", "function loom(bobbins) {\n  return " + "{loom:\n" * 300 + "64" + "}\n" * 300 + "}\n"),
        ("loom.c", "int loom(int bobbins) {\n  return " + "bobbins < 64 || " * 500 + "0;\n}\n"),
    ],
    ids=[
        "many entries",
        "deep brackets",
        "deep lists",
        "marks of direction",
        "deep loops",
        "comments",
        "deep entries",
        "one long line",
    ],
)
def test_hostile_code_tells_little_and_all_of_it_stands_in_its_lines(
    opened: Callable[[Path], Codebase], root: Path, file: str, code: str
) -> None:
    assert len(literals_of(opened, root, file, code, MANY)) <= 3 * 10


def test_no_value_leads_where_its_place_is_asked_for(opened: Callable[[Path], Codebase], root: Path) -> None:
    code = "MAX_SPINDLES = 14\n"
    found = literals_of(opened, root, "loom.py", code, "Where is the maximum number of spindles configured?")
    assert [one["leads"] for one in found] == [False] * len(found)
    assert [one["value"] for one in found] == ["14"]


def test_the_limit_of_another_thing_does_not_answer_by_itself(opened: Callable[[Path], Codebase], root: Path) -> None:
    code = (
        "def check_validation_of_looms(idle_timeout, loom):\n    # the lowest timeout of shuttles that is accepted\n"
        "    if idle_timeout < 10:\n        raise Full()\n    return loom.validation\n"
    )
    found = literals_of(opened, root, "loom.py", code, "What is the lowest validation timeout that a loom accepts?")
    assert [(one["value"], one["leads"]) for one in found] == [("10", False)]
