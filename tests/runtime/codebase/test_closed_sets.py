"""Closed sets that files of each language declare: enumerations, types of texts, constants, collections, options."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.codebase.resolution.closed_sets import file_sets
from runtime.codebase.resolution.closed_sets.file_sets import MAX_FILE_CHARS, MAX_SETS, sets_in
from runtime.codebase.resolution.closed_sets.option_choices import listed_in
from runtime.codebase.resolution.closed_sets.records import ClosedSet
from runtime.codebase.resolution.closed_sets.written_values import MAX_MEMBERS

LANGUAGES = ("python", "javascript", "typescript", "go", "rust", "java", "kotlin", "c_sharp", "php", "ruby", "c", "cpp")


def named(language: str, text: str) -> dict[str, ClosedSet]:
    return {one.name: one for one in sets_in("f", text, language)}


def members(language: str, text: str) -> dict[str, list[str]]:
    return {one.name: [member.name for member in one.members] for one in sets_in("f", text, language)}


PHP_ENUM = "<?php enum Mode: string { case Fast = 'f'; case Slow = 's'; }"
PHP_LISTS = "<?php class C { const MODES = ['fast' => 1, 'slow' => 2]; private static $kinds = ['a', 'b']; }"
C_SHARP_MAP = 'class C { static readonly Dictionary<string, int> M = new() { { "fast", 1 }, ["slow"] = 2 }; }'


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("python", "class Mode(str, Enum):\n    FAST = 1\n    SLOW: int = 2\n    _x = 3\n", {"Mode": ["FAST", "SLOW"]}),
        (
            "python",
            "class Mode(enum.IntFlag):\n    FAST = 1\n    SLOW = 2\n    def f(self): ...\n",
            {"Mode": ["FAST", "SLOW"]},
        ),
        ("python", "class Mode:\n    FAST = 1\n    SLOW = 2\n", {}),
        ("python", 'Mode = Literal["fast", "slow"]\n', {"Mode": ["fast", "slow"]}),
        ("python", 'Mode: TypeAlias = t.Literal["fast", "slow"]\n', {"Mode": ["fast", "slow"]}),
        ("python", 'type Mode = Literal["fast", "slow"]\n', {"Mode": ["fast", "slow"]}),
        ("python", 'MODES = frozenset({"fast", "slow"})\n', {"MODES": ["fast", "slow"]}),
        ("python", 'MODES = {"fast": 1, Key.SLOW: 2}\n', {"MODES": ["fast", "Key.SLOW"]}),
        ("python", 'MODES = (("fast", 1), ("slow", 2))\n', {"MODES": ["fast", "slow"]}),
        ("python", "MODES = dict(fast=1, slow=2)\n", {"MODES": ["fast", "slow"]}),
        ("python", 'class C:\n    MODES = ["fast", "slow", "fast"]\n', {"MODES": ["fast", "slow"]}),
        ("python", "SIZES = [1, 2, 3]\nPAIR = (f(), g())\n__all__ = ['a', 'b']\n", {}),
        ("typescript", 'export enum Mode { Fast, Slow = "s" }', {"Mode": ["Fast", "Slow"]}),
        ("typescript", 'type Mode = "fast" | "slow" | "idle"', {"Mode": ["fast", "slow", "idle"]}),
        ("typescript", "export const MODES = { fast: 1, slow: 2 } as const", {"MODES": ["fast", "slow"]}),
        ("typescript", 'class C { static readonly MODES = ["fast", "slow"] }', {"MODES": ["fast", "slow"]}),
        ("javascript", "const MODES = Object.freeze({ fast: 1, 'slow': 2 })", {"MODES": ["fast", "slow"]}),
        ("javascript", "const MODES = new Set(['fast', 'slow'])", {"MODES": ["fast", "slow"]}),
        ("javascript", "const MODES = new Map([['fast', 1], ['slow', 2]])", {"MODES": ["fast", "slow"]}),
        ("javascript", "exports.modes = { fast: 1, slow: 2 }", {"modes": ["fast", "slow"]}),
        ("javascript", "function f() { const MODES = { fast: 1, slow: 2 } }", {}),
        ("typescript", 'interface I { mode?: "fast" | "slow"; n: string | number }', {"mode": ["fast", "slow"]}),
        ("typescript", 'function f(mode: "fast" | "slow" = "fast") {}', {}),
        ("python", 'class C:\n    mode: Literal["fast", "slow"] = "fast"\n', {"mode": ["fast", "slow"]}),
        ("python", 'def f(mode: t.Literal["fast", "slow"], x: int = 1): ...\n', {"mode": ["fast", "slow"]}),
        ("python", 'def f(mode: Optional[Literal["fast", "slow"]] = None): ...\n', {"mode": ["fast", "slow"]}),
        ("go", "package a\ntype Mode int\nconst (\n\tFast Mode = iota\n\tSlow\n\t_\n)\n", {"Mode": ["Fast", "Slow"]}),
        ("go", 'package a\nconst (\n\tFast = Mode("f")\n\tSlow = Mode("s")\n)\n', {"Mode": ["Fast", "Slow"]}),
        ("go", "package a\nconst (\n\tfast int = 1\n\tslow int = 2\n)\nconst (\n\ta = 1\n\tb = 2\n)\n", {}),
        ("go", "package a\nconst (\n\tFast Mode = 0\n\tSlow = 1\n)\n", {"Mode": ["Fast", "Slow"]}),
        ("go", "package a\nconst (\n\tFast Mode = 0\n\tSlow = f()\n)\n", {}),
        ("go", 'package a\nvar m = map[string]int{"fast": 1, Slow: 2}\n', {"m": ["fast", "Slow"]}),
        ("go", 'package a\nvar l = []string{"fast", "slow"}\n', {"l": ["fast", "slow"]}),
        ("rust", "enum Mode { Fast, Slow(u8), Idle { x: u8 } }", {"Mode": ["Fast", "Slow", "Idle"]}),
        ("rust", 'const MODES: &[&str] = &["fast", "slow"];', {"MODES": ["fast", "slow"]}),
        ("rust", 'static M: [(&str, u8); 2] = [("fast", 1), ("slow", 2)];', {"M": ["fast", "slow"]}),
        ("java", 'enum Mode { FAST, SLOW("s") { }; int x; }', {"Mode": ["FAST", "SLOW"]}),
        ("java", 'class C { static final Set<String> S = Set.of("fast", "slow"); }', {"S": ["fast", "slow"]}),
        ("java", 'class C { static final String[] S = {"fast", "slow"}; }', {"S": ["fast", "slow"]}),
        ("java", 'class C { Map<String, Integer> M = Map.of("fast", 1, "slow", 2); }', {"M": ["fast", "slow"]}),
        ("kotlin", "enum class Mode(val x: Int) { FAST(1), SLOW(2); }", {"Mode": ["FAST", "SLOW"]}),
        ("kotlin", 'private val modes = listOf("fast", "slow")', {"modes": ["fast", "slow"]}),
        ("kotlin", 'val modes = mapOf("fast" to 1, "slow" to 2)', {"modes": ["fast", "slow"]}),
        (
            "kotlin",
            "sealed class Mode {\n  object Fast : Mode()\n  class Slow(val x: Int) : Mode()\n}",
            {"Mode": ["Fast", "Slow"]},
        ),
        ("c_sharp", "public enum Mode { Fast, Slow = 2 }", {"Mode": ["Fast", "Slow"]}),
        ("c_sharp", 'class C { static readonly string[] L = new[] { "fast", "slow" }; }', {"L": ["fast", "slow"]}),
        ("c_sharp", C_SHARP_MAP, {"M": ["fast", "slow"]}),
        ("php", PHP_ENUM, {"Mode": ["Fast", "Slow"]}),
        ("php", PHP_LISTS, {"MODES": ["fast", "slow"], "kinds": ["a", "b"]}),
        ("ruby", "MODES = %w[fast slow].freeze\n", {"MODES": ["fast", "slow"]}),
        ("ruby", "MODES = { fast: 1, 'slow' => 2 }\n", {"MODES": ["fast", "slow"]}),
        ("ruby", "MODES = Set.new(['fast', 'slow', nil])\n", {"MODES": ["fast", "slow"]}),
        ("c", "enum mode { FAST, SLOW = 2 };", {"mode": ["FAST", "SLOW"]}),
        ("c", "typedef enum { FAST, SLOW } mode_t;", {"mode_t": ["FAST", "SLOW"]}),
        ("c", 'static const char *modes[] = { "fast", "slow", NULL };', {"modes": ["fast", "slow"]}),
        ("cpp", "enum class Mode { Fast, Slow };", {"Mode": ["Fast", "Slow"]}),
    ],
)
def test_what_a_file_declares_is_found_with_its_members(
    language: str, text: str, expected: dict[str, list[str]]
) -> None:
    assert members(language, text) == expected


CLICK = '@click.option("--mode", "-m", type=click.Choice(["fast", "slow"]))\ndef f(mode): ...\n'
TYPER = "def f(mode: Mode = typer.Option(Mode.fast, help='x')): ...\n"
ARGPARSE = 'p.add_argument("-m", "--mode", choices=sorted(MODES.keys()), help="x")\n'
COMMANDER = "program.addOption(new Option('-m, --mode <m>', 'how').choices(['fast', 'slow']))"
CLAP = 'fn a() { Arg::new("mode").long("mode").value_parser(["fast", "slow"]); }'
CLAP_FIELD = 'struct A { #[arg(long = "mode", value_parser = ["fast", "slow"])] how: String }'
CLAP_ENUM = "struct A { #[arg(long, value_enum)] work_mode: Option<Mode> }"
PFLAG = 'package a\nfunc f() { f.Var(&o.Mode, "mode", "how to go, one of (fast|slow)") }\n'
PFLAG_CONSTANT = 'package a\nconst modeFlag = "mode"\nfunc f() { f.Var(&o.Mode, modeFlag, "one of (fast|slow)") }\n'


@pytest.mark.parametrize(
    ("language", "text", "names", "found", "refers"),
    [
        ("python", CLICK, ("--mode", "-m"), ["fast", "slow"], ()),
        ("python", TYPER, ("--mode",), [], ("Mode",)),
        ("python", ARGPARSE, ("-m", "--mode"), [], ("MODES",)),
        ("python", 'p.add_argument("mode", choices=("fast", "slow"))\n', ("mode",), ["fast", "slow"], ()),
        ("javascript", "y.option('mode', { choices: ['fast', 'slow'] })", ("mode",), ["fast", "slow"], ()),
        ("javascript", COMMANDER, ("-m", "--mode"), ["fast", "slow"], ()),
        ("rust", CLAP, ("--mode", "mode"), ["fast", "slow"], ()),
        ("rust", CLAP_FIELD, ("--mode",), ["fast", "slow"], ()),
        ("rust", CLAP_ENUM, ("--work-mode",), [], ("Mode",)),
        ("go", PFLAG, ("mode",), ["fast", "slow"], ()),
        ("go", PFLAG_CONSTANT, ("mode",), ["fast", "slow"], ()),
        ("kotlin", 'class C { val m by option("--mode").choice("fast", "slow") }', ("--mode",), ["fast", "slow"], ()),
    ],
)
def test_what_an_option_may_be_set_to_is_found(
    language: str, text: str, names: tuple[str, ...], found: list[str], refers: tuple[str, ...]
) -> None:
    (one,) = [one for one in sets_in("f", text, language) if one.kind == "option"]
    assert (one.names, [member.name for member in one.members], one.refers) == (names, found, refers)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("python", 'p.add_argument("--mode", help="how to go")\n'),
        ("python", 'p.add_argument("--mode", help="a FILE|URL to read")\n'),
        ("python", 'print("one of (fast|slow)")\n'),
        ("rust", 'fn a() { Arg::new("tabs").value_parser(|t: &str| t.parse::<u32>()); }'),
    ],
)
def test_an_option_whose_values_are_not_listed_is_none(language: str, text: str) -> None:
    assert sets_in("f", text, language) == []


@pytest.mark.parametrize(
    ("text", "listed"),
    [
        ("one of (auto|off|max)", ["auto", "off", "max"]),
        ("one of: auto, off or max", ["auto", "off", "max"]),
        ("possible values are 'a', 'b' and 'c'.", ["a", "b", "c"]),
        ("read, write or delete", []),
        ("", []),
    ],
)
def test_words_about_an_option_list_its_values(text: str, listed: list[str]) -> None:
    assert listed_in(text) == listed


def test_a_value_in_words_of_several_lines_stands_in_its_own_line() -> None:
    text = 'p.add_argument("--mode", help="""How to go:\none of (fast|slow)\n""")\n'
    (one,) = sets_in("f", text, "python")
    assert [member.line for member in one.members] == [2, 2]


def test_what_is_said_of_a_member_stands_above_it_behind_it_or_below_it() -> None:
    text = (
        'class Mode(Enum):\n    """How to go.\n\n    More."""\n    A = 1  # the first\n    #: the second\n    B = 2\n'
        '    C = 3\n    """The third."""\n    D = 4\n'
    )
    one = named("python", text)["Mode"]
    assert one.docstring == "How to go."
    assert [member.docstring for member in one.members] == ["the first", "the second", "The third.", ""]
    assert [member.line for member in one.members] == [5, 7, 8, 10]
    assert [member.value for member in one.members] == ["1", "2", "3", "4"]
    rust = named(
        "rust", "/// How to go.\nenum Mode {\n    /// The first.\n    A,\n    #[x]\n    B, // the second\n}\n"
    )["Mode"]
    assert rust.docstring == "How to go."
    assert [member.docstring for member in rust.members] == ["The first.", "the second"]


@pytest.mark.parametrize(
    ("language", "text", "is_open"),
    [
        ("python", 'MODES = {"a": 1, "b": 2}\n', False),
        ("python", 'MODES = {"a": 1, "b": 2, **MORE}\n', True),
        ("python", 'MODES = ["a", "b", *MORE]\n', True),
        ("python", 'MODES = ["a", "b", more()]\n', True),
        ("javascript", "const m = { a: 1, b: 2, ...more }", True),
        ("typescript", 'type M = "a" | "b" | Other', True),
        ("kotlin", "sealed class M {\n  object A : M()\n  object B : M()\n}", True),
    ],
)
def test_a_set_that_takes_more_from_elsewhere_is_open(language: str, text: str, is_open: bool) -> None:
    (one,) = sets_in("f", text, language)
    assert (one.is_open, one.total) == (is_open, 2)


def test_what_a_mapping_is_looked_up_by_is_known() -> None:
    text = "var messages = { A: 'x', B: 'y' }\nfunction f(code) { return messages[code] || messages[code] }\n"
    assert named("javascript", text)["messages"].used_for == "code"


def test_constants_of_one_type_in_several_groups_are_one_set() -> None:
    text = "package a\n// How to go.\nconst (\n\tA Mode = 1\n\tB Mode = 2\n)\nconst (\n\tC Mode = 3\n\tD Mode = 4\n)\n"
    (one,) = sets_in("f", text, "go")
    assert ([member.name for member in one.members], one.total, one.docstring) == (list("ABCD"), 4, "How to go.")


def test_the_values_of_an_enumeration_are_no_sets_of_their_own() -> None:
    assert members("python", 'class C(Enum):\n    A = {"x": 1, "y": 2}\n    B = ["p", "q"]\n') == {"C": ["A", "B"]}


@pytest.mark.parametrize("count", [MAX_MEMBERS - 1, MAX_MEMBERS, MAX_MEMBERS + 1, 10_000])
def test_so_many_members_are_kept_and_all_are_counted(count: int) -> None:
    (one,) = sets_in("f", "enum E { " + ", ".join(f"A{n}" for n in range(count)) + " }", "rust")
    assert (len(one.members), one.total) == (min(count, MAX_MEMBERS), count)
    (one,) = sets_in("f", "L = [" + ", ".join(f'"a{n}"' for n in range(count)) + "]\n", "python")
    assert (len(one.members), one.total) == (min(count, MAX_MEMBERS), count)


@pytest.mark.parametrize(("over", "found"), [(-1, 1), (0, 1), (1, 0)])
def test_a_larger_file_is_not_parsed(over: int, found: int) -> None:
    text = 'L = ["a", "b"]\n#'
    text += "x" * (MAX_FILE_CHARS + over - len(text))
    assert len(sets_in("f", text, "python")) == found


@pytest.mark.parametrize("count", [MAX_SETS - 1, MAX_SETS, MAX_SETS + 1])
def test_of_a_file_so_many_sets_are_kept(count: int) -> None:
    text = "".join(f'L{n} = ["a", "b"]\n' for n in range(count))
    assert len(sets_in("f", text, "python")) == min(count, MAX_SETS)


def test_a_file_without_a_grammar_declares_nothing() -> None:
    assert sets_in("f", "L = ['a', 'b']", "markdown") == sets_in("f", "L = ['a', 'b']", None) == []


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("piece", ["[", "{", "(", "enum E {", "a = [", "x => ", '"', "case A:", "const (", "#[arg("])
def test_deep_and_broken_files_are_read_in_bounds(language: str, piece: str) -> None:
    for text in (piece * 900, f"{piece} 'a', 'b' " * 200):
        assert isinstance(sets_in("f", text, language), list)


@given(
    st.sampled_from(LANGUAGES),
    st.lists(
        st.sampled_from(
            [
                "enum E {",
                "A,",
                "B = 'x'",
                "}",
                "const X = [",
                "'a',",
                '"b"',
                "]",
                "class C(Enum):\n",
                "    A = 1\n",
                "{",
                "=>",
            ]
        ),
        max_size=25,
    ),
)
def test_members_stand_in_the_lines_that_are_told(language: str, pieces: list[str]) -> None:
    text = " ".join(pieces)
    lines = text.split("\n")
    for one in sets_in("f", text, language):
        assert one.total >= 2
        assert 1 <= one.start_line <= one.line <= one.end_line <= len(lines)
        assert all(member.name in lines[member.line - 1] for member in one.members)


def test_a_long_text_about_an_option_is_read_in_no_time() -> None:
    for text in ("a|" * 200_000, "one of " * 100_000, "one of " + "a, " * 200_000, "a" * 400_000 + "|", "| " * 200_000):
        listed_in(text)


def test_the_look_ups_of_a_name_are_counted_in_bounds() -> None:
    text = "m = {'a': 1, 'b': 2}\n" + "".join(f"m[k{n}]\n" for n in range(file_sets.MAX_LOOK_UPS + 5))
    assert len(named("python", text)["m"].used_for.split()) == file_sets.MAX_LOOK_UPS
