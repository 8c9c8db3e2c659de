"""Which lines of a found place are cited, shown and quoted."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.codebase.files.words import index_terms
from runtime.codebase.search.excerpts import (
    FEW_LINES,
    MAX_AFTER_LINES,
    MAX_BEGUN_LINES,
    MAX_GAP_LINES,
    MAX_LINE_CHARS,
    MAX_SHOWN_LINES,
    MAX_SPAN_LINES,
    Excerpt,
    excerpt_of,
)
from runtime.codebase.search.prose.comment_lines import comment_lines
from runtime.codebase.search.quoted_lines import MAX_QUOTED, quoted_places
from runtime.codebase.search.short_definitions import MAX_COMMENT_LINES, MAX_REST_LINES, MAX_WHOLE_LINES

LINE = st.text("abc rout()[]{}#/*\"'.,:;_=-\t`«»", max_size=40) | st.sampled_from(
    ["def route(request):", "    return route", '    """Routes a request to its handler."""', "}", "", "# the route"]
)
WEIGHTS = st.dictionaries(st.sampled_from(["rout", "request", "handl", "abc", "nowher"]), st.floats(0.1, 9), max_size=5)


def weights_of(words: str) -> dict[str, float]:
    return dict.fromkeys(index_terms(words).split(), 1.0)


@given(st.lists(LINE, min_size=1, max_size=80), st.integers(1, 10_000), WEIGHTS, st.booleans())
def test_what_is_shown_lies_in_the_span_and_the_span_in_the_lines(
    lines: list[str], first: int, weights: dict[str, float], is_document: bool
) -> None:
    chosen = excerpt_of(lines, first, weights, is_document=is_document)
    assert first <= chosen.start_line <= chosen.shown_start <= chosen.shown_end <= chosen.end_line
    assert chosen.end_line < first + len(lines)
    assert chosen.end_line - chosen.start_line < MAX_SPAN_LINES
    assert chosen.shown_end - chosen.shown_start < MAX_SHOWN_LINES
    assert chosen.text == "\n".join(lines[chosen.shown_start - first : chosen.shown_end - first + 1])
    assert len(chosen.quoted) == len(chosen.quotes) <= 2 * MAX_QUOTED
    assert all(chosen.start_line <= line <= chosen.end_line for line in chosen.quoted)
    assert chosen.quotes == tuple(lines[line - first].strip() for line in chosen.quoted)
    assert 0 <= chosen.share <= 1
    assert chosen == excerpt_of(list(lines), first, dict(weights), is_document=is_document)


def test_without_weights_the_first_lines_are_chosen() -> None:
    chosen = excerpt_of([f"line {number}" for number in range(60)], 1, {})
    assert (chosen.start_line, chosen.end_line, chosen.share, chosen.said) == (1, MAX_SPAN_LINES, 0.0, None)
    assert (chosen.shown_start, chosen.shown_end) == (1, MAX_SHOWN_LINES)


def test_one_line_is_its_own_excerpt() -> None:
    chosen = excerpt_of(["route = 1"], 7, weights_of("route"))
    assert (chosen.start_line, chosen.end_line, chosen.text, chosen.quotes) == (7, 7, "route = 1", ("route = 1",))
    assert chosen.share == 1.0


def test_a_span_has_at_most_so_many_lines() -> None:
    for count in (MAX_SPAN_LINES - 1, MAX_SPAN_LINES, MAX_SPAN_LINES + 1, 3 * MAX_SPAN_LINES):
        chosen = excerpt_of(["route"] * count, 1, weights_of("route"))
        assert chosen.end_line - chosen.start_line + 1 <= min(count, MAX_SPAN_LINES)


def test_a_very_long_line_is_cut() -> None:
    for length in (MAX_LINE_CHARS - 1, MAX_LINE_CHARS, MAX_LINE_CHARS + 1, 200_000):
        chosen = excerpt_of(["route " + "x" * (length - 6)], 1, weights_of("route"))
        assert len(chosen.text) == len(chosen.quotes[0]) == min(length, MAX_LINE_CHARS)


def test_brackets_that_are_opened_are_closed() -> None:
    lines = ["before()"] * 30 + ["route(", "    one,", "    two,", ")", *(["after()"] * 30)]
    assert excerpt_of(lines, 1, weights_of("route")).text == "route(\n    one,\n    two,\n)"


def test_a_bracket_that_closes_an_earlier_block_closes_none_that_is_opened_later() -> None:
    lines = [*["before();"] * 30, "route = 1;", "}", "light() {", "  return route;", "}", *["after();"] * 30]
    assert excerpt_of(lines, 1, weights_of("route light")).text.endswith("  return route;\n}")


def test_a_statement_is_not_begun_in_its_middle() -> None:
    lines = [*["before()"] * 30, "value = (", "    one", "    .route())", *["after()"] * 30]
    assert excerpt_of(lines, 1, weights_of("route")).text == "value = (\n    one\n    .route())"


def test_code_is_shown_rather_than_the_words_above_it() -> None:
    lines = ["def pick(rules):", '    """Route a request to a handler."""', "    return rules.route(request)"]
    chosen = excerpt_of(lines, 1, weights_of("route request handler"))
    assert "return rules.route(request)" in chosen.text
    assert chosen.said is not None
    assert chosen.quotes == ("return rules.route(request)",)


def test_words_are_shown_where_no_line_of_code_has_one() -> None:
    lines = ["def pick(rules):", '    """Route a request to a handler."""', "    return rules[0]"]
    assert "Route a request" in excerpt_of(lines, 1, weights_of("route request handler")).text


@pytest.mark.parametrize(
    ("begun", "outcome"),
    [
        (["    if route.late:"], "        raise TooLate(limit)"),
        (["    if (route.late)", "    {"], "        throw late();"),
        (["    for route in", "        routes:"], "        drop()"),
        (["    case route"], "    when nil"),
        (["    # The route decides."], "    return decide()"),
        (["    send(route,"], "        late=True)"),
    ],
)
def test_an_excerpt_does_not_end_ahead_of_what_its_last_line_begins(begun: list[str], outcome: str) -> None:
    lines = [*["    before()"] * 30, *begun, outcome, *["    after()"] * 30]
    assert outcome in excerpt_of(lines, 1, weights_of("route")).text.split("\n")


def test_what_is_too_long_to_be_shown_whole_is_not_begun() -> None:
    lines = ["route()", "other()", "if route:", *["    step("] * 60]
    assert "if route:" not in excerpt_of(lines, 1, weights_of("route")).text


def test_a_condition_is_quoted_with_its_outcome() -> None:
    lines = ["def f(x):", "    if route.late:", "        raise TooLate", "    return x"]
    assert excerpt_of(lines, 1, weights_of("route late")).quotes == ("if route.late:", "raise TooLate")


@pytest.mark.parametrize(
    "bare",
    [
        "import route",
        "from net import route",
        "use crate::route;",
        "#include <route.h>",
        "const route = require('route')",
        "log.info('route')",
        "logger.warning('route')",
        "console.log(route)",
        "@route",
        "def route(request):",
        "public static async Task Route(Request request)",
        "pub(crate) fn route(request: Request) -> Route {",
    ],
)
def test_imports_logging_and_bare_signatures_are_quoted_only_where_nothing_else_is(bare: str) -> None:
    weights = weights_of("route request")
    told = excerpt_of([bare, "", "answer = table[route]"], 1, weights)
    assert "answer = table[route]" in told.quotes
    assert bare not in told.quotes
    assert excerpt_of([bare], 1, weights).quotes == (bare,)


def test_a_signature_with_a_default_tells_something() -> None:
    assert excerpt_of(["def f(route=5):", "    pass"], 1, weights_of("route")).quotes[0] == "def f(route=5):"


GATE = """\
def open_gate(self, ship):
    for berth in self.berths:
        if ship.is_late(
            berth,
        ):
            self.note(ship)
            self.note(berth)
{filler}
            self.raise_flag('signal late harbour')
        elif ship.is_sunk:
            self.count += 1
        else:
{filler}
            self.lower_flag('welcome quay')
""".format(filler="\n".join("            self.step()" for _ in range(20)))


@pytest.mark.parametrize(
    ("words", "heads"),
    [
        ("signal late harbour", ["if ship.is_late(", "berth,", "):"]),
        ("lower welcome quay", ["if ship.is_late(", "berth,", "):", "else:"]),
        ("open gate", []),
    ],
)
def test_the_conditions_around_what_is_shown_are_told_whole(words: str, heads: list[str]) -> None:
    lines = GATE.split("\n")
    chosen = excerpt_of(lines, 11, weights_of(words))
    assert [line.strip() for _, line in chosen.heads] == heads
    assert all(lines[number - 11] == line and number < chosen.shown_start for number, line in chosen.heads)


@pytest.mark.parametrize(
    ("between", "is_shown"), [(0, True), (1, True), (MAX_GAP_LINES, True), (MAX_GAP_LINES + 1, False)]
)
def test_a_few_lines_between_a_condition_and_what_is_shown_are_shown_too(between: int, is_shown: bool) -> None:
    made = [f"        self.step({number})" for number in range(between)]
    asked = ["        self.signal(late, harbour)" for _ in range(MAX_SHOWN_LINES)]
    after = [f"    self.note({number})" for number in range(MAX_WHOLE_LINES)]
    lines = ["def open_gate(self, ship):", "    if ship.is_late:", *made, *asked, *after]
    chosen = excerpt_of(lines, 1, weights_of("signal late harbour"))
    heads = [number for number, _ in chosen.heads]
    assert (chosen.shown_start, chosen.text.split("\n")[0]) == (3 + between, asked[0])
    assert heads == (list(range(2, 3 + between)) if is_shown else [2])


def test_of_several_gaps_those_nearest_to_what_is_shown_are_filled() -> None:
    half = [f"        self.step({number})" for number in range(MAX_GAP_LINES // 2 + 1)]
    inner = [f"    {line}" for line in half]
    asked = ["            self.signal(late, harbour)" for _ in range(MAX_SHOWN_LINES)]
    after = [f"    self.note({number})" for number in range(MAX_REST_LINES + 1)]
    lines = [
        "def open_gate(self, ship):",
        "    if ship.is_late:",
        *half,
        "        if ship.is_sunk:",
        *inner,
        *asked,
        *after,
    ]
    chosen = excerpt_of(lines, 1, weights_of("signal late harbour"))
    assert [line.strip() for _, line in chosen.heads] == [
        "if ship.is_late:",
        "if ship.is_sunk:",
        *(line.strip() for line in inner),
    ]


@pytest.mark.parametrize(
    ("begun", "left", "goes_on"),
    [
        (MAX_BEGUN_LINES - 1, 1, True),
        (MAX_BEGUN_LINES, 1, True),
        (MAX_BEGUN_LINES + 1, 1, False),
        (1, MAX_REST_LINES, True),
        (1, MAX_REST_LINES + 1, False),
    ],
)
def test_a_branch_that_has_only_begun_goes_on_to_its_end(begun: int, left: int, goes_on: bool) -> None:
    asked = ["    self.signal(late, harbour)" for _ in range(MAX_SHOWN_LINES - 2 - begun)]
    shown = [*asked, "    if late:", *(f"        self.harbour({number})" for number in range(begun))]
    rest = [f"        self.step({number})" for number in range(left)]
    after = [f"    self.note({number})" for number in range(MAX_WHOLE_LINES)]
    lines = ["def open_gate(signal):", *shown, *rest, *after]
    chosen = excerpt_of(lines, 1, weights_of("signal late harbour"))
    assert chosen.text == "\n".join(lines[: len(shown) + 1])
    assert chosen.rest == (tuple(rest) if goes_on else ())


@given(st.lists(LINE, min_size=1, max_size=80), st.integers(1, 10_000), WEIGHTS)
def test_conditions_stand_above_what_is_shown(lines: list[str], first: int, weights: dict[str, float]) -> None:
    chosen = excerpt_of(lines, first, weights)
    numbers = [number for number, _ in chosen.heads]
    assert numbers == sorted(set(numbers))
    assert all(first <= number < chosen.shown_start for number in numbers)
    assert all(line == lines[number - first] for number, line in chosen.heads)


@pytest.mark.parametrize(
    ("further", "goes_on"), [(0, False), (1, True), (MAX_REST_LINES, True), (MAX_REST_LINES + 1, False)]
)
def test_a_definition_goes_on_to_its_end_where_few_lines_are_left(further: int, goes_on: bool) -> None:
    above = ["def turn(wheel):", *(f"    wheel.turn({number})" for number in range(MAX_WHOLE_LINES))]
    shown = [f"    route_{number} = request" for number in range(MAX_SHOWN_LINES)]
    rest = [f"    other.part({number})" for number in range(further)]
    chosen = excerpt_of([*above, *shown, *rest], 5, weights_of("route request"))
    assert chosen.text == "\n".join(shown)
    assert chosen.rest == (tuple(rest) if goes_on else ())


def shown_of(chosen: Excerpt) -> list[str]:
    return [*(line for _, line in chosen.heads), *chosen.text.split("\n"), *chosen.rest]


@pytest.mark.parametrize(
    ("count", "is_whole"), [(MAX_WHOLE_LINES - 1, True), (MAX_WHOLE_LINES, True), (MAX_WHOLE_LINES + 1, False)]
)
def test_a_short_definition_is_shown_from_its_beginning_to_its_end(count: int, is_whole: bool) -> None:
    lines = ["def haul(cargo):", *(f"    crane_{number}.lift(cargo)" for number in range(count - 1))]
    lines[12] = "    berth = harbour.find_berth(cargo)"
    chosen = excerpt_of(lines, 7, weights_of("find berth harbour"))
    assert (shown_of(chosen) == lines) is is_whole


@pytest.mark.parametrize(("length", "is_shown"), [(MAX_COMMENT_LINES, True), (MAX_COMMENT_LINES + 1, False)])
def test_of_a_definition_that_is_shown_whole_long_documentation_is_left_out(length: int, is_shown: bool) -> None:
    said = [f"    # On ropes, part {number}" for number in range(length)]
    steps = [f"    crane_{number}.lift(cargo)" for number in range(MAX_SHOWN_LINES)]
    lines = ["def haul(cargo):", *said, *steps, "    berth = harbour.find_berth(cargo)"]
    shown = shown_of(excerpt_of(lines, 7, weights_of("find berth harbour")))
    assert shown == (lines if is_shown else [lines[0], *steps, lines[-1]])


def test_a_short_class_is_not_shown_whole_for_one_member() -> None:
    lines = ["class Crane:", *(f"    hook_{number} = {number}" for number in range(MAX_SHOWN_LINES + 8))]
    lines[4] = "    longest_berth = 17"
    assert shown_of(excerpt_of(lines, 7, weights_of("longest berth"))) != lines


def test_what_is_no_one_definition_does_not_go_on() -> None:
    lines = [f"route_{number} = request" for number in range(MAX_SHOWN_LINES)]
    assert excerpt_of([*lines, "other = 1", "last = 2"], 1, weights_of("route request")).rest == ()


@given(st.lists(LINE, min_size=1, max_size=80), st.integers(1, 10_000), WEIGHTS)
def test_what_goes_on_are_the_lines_behind_those_shown(lines: list[str], first: int, weights: dict[str, float]) -> None:
    chosen = excerpt_of(lines, first, weights)
    behind = lines[chosen.shown_end - first + 1 :]
    assert list(chosen.rest) == behind[: len(chosen.rest)]
    assert len(chosen.rest) <= max(MAX_REST_LINES, MAX_SHOWN_LINES - 1)


def in_long_function(*middle: str) -> list[str]:
    """Return a function whose comment above speaks of routes, so that the span ends at the first line of `middle`."""
    above = [f"// The request's route {number}." for number in range(MAX_SPAN_LINES - 5)]
    return [*above, "func find(a A) B {", *(f"\ta.step({number})" for number in range(3)), *middle, "\treturn a", "}"]


@pytest.mark.parametrize(
    ("inner", "shown"),
    [(1, 3), (MAX_REST_LINES - 1, MAX_REST_LINES + 1), (MAX_REST_LINES, MAX_SHOWN_LINES), (60, MAX_SHOWN_LINES)],
)
def test_a_condition_at_the_end_is_shown_with_what_it_leads_to(inner: int, shown: int) -> None:
    block = ["\tif route.request {", *(f"\t\ta.part({number})" for number in range(inner)), "\t}"]
    chosen = excerpt_of(in_long_function(*block, *["\ta.more()"] * MAX_WHOLE_LINES), 1, weights_of("route request"))
    assert chosen.text == "\tif route.request {"
    assert [chosen.text, *chosen.rest] == block[:shown]


@pytest.mark.parametrize(("found", "goes_on"), [(FEW_LINES, True), (FEW_LINES + 1, False)])
def test_hardly_any_code_goes_on_as_far_as_lines_may_be_shown(found: int, goes_on: bool) -> None:
    lines = [f"    route(request, {number})" for number in range(found)]
    further = [f"    step({number})" for number in range(60)]
    chosen = excerpt_of(["def find(a):", *["    begin()"] * 30, *lines, *further], 1, weights_of("route request"))
    assert chosen.text.split("\n") == lines
    assert list(chosen.rest) == (further[: MAX_SHOWN_LINES - found] if goes_on else [])


def test_what_goes_on_does_not_end_at_the_head_of_another_block_or_a_comment() -> None:
    further = [
        *(f"\ta.step({number})" for number in range(17)),
        "\t// And then",
        "\tif more {",
        *["\t\ta.more()"] * 30,
        "\t}",
    ]
    lines = ["func find(a A) B {", *["\ta.begin()"] * 30, "\troute(request)", *further, "}"]
    chosen = excerpt_of(lines, 1, weights_of("route request"))
    assert (chosen.text, list(chosen.rest)) == ("\troute(request)", further[:17])


DOCUMENTED = [
    "def process(value):",
    '    """Process a value:',
    "",
    "    Check whether the value is missing, and raise an error if it is required.",
    *("    It has further steps." for _ in range(20)),
    '    """',
    "    value = cast(value)",
    "    if required and is_missing(value):",
    "        raise MissingError(value)",
    "    return value",
]


def test_where_documentation_is_all_that_is_shown_the_code_of_the_question_is_its_body() -> None:
    chosen = excerpt_of(DOCUMENTED, 10, weights_of("missing value required error check whether"))
    assert (chosen.shown_start, chosen.shown_end) == (10, 26)
    assert [number for number, _ in chosen.body] == [35, 36, 37, 38]


def test_where_code_is_shown_there_is_no_body() -> None:
    assert excerpt_of(DOCUMENTED, 10, weights_of("cast")).body == ()


@pytest.mark.parametrize("lines", [MAX_SHOWN_LINES - 1, MAX_SHOWN_LINES, MAX_SHOWN_LINES + 1])
def test_code_that_has_no_word_of_the_question_is_shown_whole_or_not_at_all(lines: int) -> None:
    fields = [f"    field_{number} = {number}" for number in range(lines)]
    chosen = excerpt_of(
        ["class Tide(Water):", '    """Turns the rounds."""', "", *fields], 10, weights_of("rounds tide")
    )
    shown = [number for number, _ in chosen.body]
    assert shown == (list(range(13, 13 + lines)) if lines <= MAX_SHOWN_LINES else [])


@given(st.lists(LINE, min_size=1, max_size=80), st.integers(1, 10_000), WEIGHTS)
def test_a_body_is_consecutive_lines_of_the_place(lines: list[str], first: int, weights: dict[str, float]) -> None:
    body = excerpt_of(lines, first, weights).body
    assert all(line == lines[number - first] for number, line in body)
    assert [number for number, _ in body] == list(range(body[0][0], body[-1][0] + 1) if body else ())
    assert len(body) <= MAX_SHOWN_LINES


def test_the_parameters_of_a_definition_are_no_code_to_show() -> None:
    lines = [
        "def echo(",
        "    message: str,",
        "    color: bool,",
        ") -> None:",
        '    """Say it.',
        *("    It is said to whoever listens." for _ in range(24)),
        '    """',
        "    stripped = strip(message)",
        "    write(stripped, message)",
    ]
    chosen = excerpt_of(lines, 1, weights_of("message color"))
    assert (chosen.shown_start, chosen.body) == (1, ((31, lines[30]), (32, lines[31])))
    assert not chosen.is_bare


@pytest.mark.parametrize(
    ("last", "is_bare"), [("", True), ("    return color", False), ("    # color", False), ("echo = color", False)]
)
def test_a_signature_alone_is_bare(last: str, is_bare: bool) -> None:
    head = ["def echo(", "    message: str,", ") -> None:"]
    assert excerpt_of([*head, last], 1, weights_of("message color echo")).is_bare is is_bare


@pytest.mark.parametrize(
    ("lines", "is_prose"),
    [(["/** Gets the route.", " */"], True), (["/** Gets the route. */", "route() {}"], False), (["route = 1"], False)],
)
def test_a_comment_by_itself_is_prose(lines: list[str], is_prose: bool) -> None:
    assert excerpt_of(lines, 1, weights_of("route")).is_prose is is_prose


@pytest.mark.parametrize(
    ("first", "is_quoted"),
    [
        ("/// no other threads access the queue meanwhile.", False),
        ("/// No other threads access the queue meanwhile.", True),
        ("/// pushMut lets no other threads access the queue.", True),
    ],
)
def test_a_sentence_that_began_above_the_place_is_not_quoted(first: str, is_quoted: bool) -> None:
    said = excerpt_of([first, "pub fn pushMut(&mut self) {", "}"], 1, weights_of("threads access queue")).said
    assert (said is not None) is is_quoted


def test_lines_that_a_reading_found_to_answer_are_shown_though_they_share_no_word() -> None:
    deciding = ["    if bought.age > 30:", "        return None", "    bank.send(bought)", "    return bought", ""]
    lines = ["def refund(bought):", *(f"    step_{number}(bought)" for number in range(54)), *deciding]
    weights = weights_of("refund money old order late")
    assert excerpt_of(lines, 101, weights).shown_end < 150
    read = excerpt_of(lines, 101, weights, read_lines=(150, 159))
    assert read.shown_start <= 156 <= read.shown_end
    assert "if bought.age > 30:" in read.text


def test_lines_with_all_words_of_a_question_stay_where_few_others_were_found_to_answer() -> None:
    lines = ["refund = order.check()", *["x = 1"] * 50, "y = 2"]
    chosen = excerpt_of(lines, 1, weights_of("refund order check"), read_lines=(52, 52))
    assert "refund = order.check()" in chosen.text


@given(st.lists(LINE, min_size=1, max_size=80), WEIGHTS, st.integers(-5, 90), st.integers(-5, 90))
def test_what_a_reading_found_keeps_every_bound(
    lines: list[str], weights: dict[str, float], first: int, last: int
) -> None:
    chosen = excerpt_of(lines, 1, weights, read_lines=(first, last))
    assert 1 <= chosen.start_line <= chosen.shown_start <= chosen.shown_end <= chosen.end_line <= len(lines)
    assert chosen.shown_end - chosen.shown_start < MAX_SHOWN_LINES
    assert all(0 <= share <= 1 for share in (chosen.share, chosen.told_share))


def test_of_lines_that_say_the_same_the_first_is_quoted_in_whatever_order_they_say_it() -> None:
    draw = random.Random(11)
    for _ in range(200):
        terms = sorted({"".join(draw.choices("bcdfghklmnprtvwz", k=6)) for _ in range(12)})
        weights = {term: draw.uniform(0.1, 9.0) for term in terms}
        found = excerpt_of([" ".join(terms), " ".join(reversed(terms))], 1, weights, is_document=True)
        assert found.quoted == (1,)


SEND = [
    "fn send(",
    "    mut parcel: Parcel,",
    "    depot: &Depot,",
    ") -> Result<Parcel, Error> {",
    "    let parcel = parcel.weighed();",
    "    if label.is_torn() {",
    "        return Err(Error::Unreadable);",
    "    }",
    "    depot.keep(parcel)",
    "}",
]


@pytest.mark.parametrize(
    ("read_lines", "quoted"),
    [
        # By words alone: the line that has both.
        (None, ("depot.keep(parcel)",)),
        # What was read to answer has a condition with its outcome, none of whose words the question has.
        ((6, 8), ("if label.is_torn() {", "return Err(Error::Unreadable);", "depot.keep(parcel)")),
        # What was read decides nothing.
        ((8, 8), ("depot.keep(parcel)",)),
        ((5, 5), ("depot.keep(parcel)",)),
    ],
)
def test_lines_that_were_read_to_answer_are_quoted_where_they_decide_something(
    read_lines: tuple[int, int] | None, quoted: tuple[str, ...]
) -> None:
    chosen = excerpt_of(SEND, 1, {"parcel": 1.0, "depot": 0.4}, read_lines=read_lines)
    assert chosen.quotes == quoted


def test_the_parameters_of_a_signature_are_quoted_only_where_nothing_else_speaks_of_the_question() -> None:
    told = excerpt_of([*SEND[:4], "    go()", "}"], 1, {"parcel": 1.0})
    assert told.quotes == ("mut parcel: Parcel,", "depot: &Depot,")
    told = excerpt_of(SEND, 1, {"parcel": 1.0})
    assert told.quotes == ("let parcel = parcel.weighed();",)


@pytest.mark.parametrize("line", ["# Is it torn? Then it is not sent.", "// if it is torn", "break", "}"])
def test_remarks_and_bare_keywords_are_never_quoted_for_deciding(line: str) -> None:
    lines = ["depot.keep(parcel)", line]
    assert quoted_places(lines, [["parcel"], []], {"parcel": 1.0}, range(2), read={1} - _remarks(lines)) == [0]


def _remarks(lines: list[str]) -> set[int]:
    return {at for at, remark in enumerate(comment_lines(lines)) if remark}


@given(st.lists(LINE, min_size=1, max_size=40), WEIGHTS, st.data())
def test_what_is_quoted_lies_in_the_span_each_line_once_in_order(
    lines: list[str], weights: dict[str, float], data: st.DataObject
) -> None:
    words = [[term for term in index_terms(line).split() if term in weights] for line in lines]
    start = data.draw(st.integers(0, len(lines) - 1))
    span = range(start, data.draw(st.integers(start + 1, len(lines))))
    read = data.draw(st.sets(st.sampled_from(range(len(lines)))))
    quoted = quoted_places(lines, words, weights, span, read, read)
    assert quoted == sorted(set(quoted))
    assert set(quoted) <= set(span)
    assert len(quoted) <= 2 * MAX_QUOTED


@pytest.mark.parametrize(("comment", "last"), [(1, 20), (6, 20), (14, 12)])
def test_a_comment_at_the_end_whose_code_is_not_shown_is_left_out(comment: int, last: int) -> None:
    code = ["def stir(cup):", *(f"    step_{at}(cup, spoon)" for at in range(11))]
    said = [f"    # It is washed, {at}" for at in range(comment)]
    lines = [*code, *said, *(f"    turn_{at}()" for at in range(30))]
    chosen = excerpt_of(lines, 1, weights_of("step spoon"), read_lines=(8, 20))
    assert (chosen.shown_start, chosen.shown_end) == (2, last)


@pytest.mark.parametrize(
    ("above", "shown"),
    [
        (1, "# what it does 0"),
        (MAX_COMMENT_LINES, "# what it does 0"),
        (MAX_COMMENT_LINES + 1, "stir_0(cup)"),
    ],
)
def test_no_excerpt_begins_within_a_comment(above: int, shown: str) -> None:
    said = [*(f"    # what it does {at}" for at in range(above)), "    # with the spoon in the cup"]
    code = [f"    stir_{at}(cup)" for at in range(8)]
    lines = ["def stir(cup):", *(f"    fill_{at}()" for at in range(20)), *said, *code, *(["    go()"] * 30)]
    chosen = excerpt_of(lines, 1, weights_of("spoon cup stir"))
    assert chosen.text.split("\n")[0].strip() == shown
    assert chosen.start_line <= chosen.shown_start


def test_a_comment_that_is_all_there_is_is_shown_from_where_it_speaks_of_the_question() -> None:
    lines = [*(f"# what it does {at}" for at in range(40)), "# the spoon", "# and the cup"]
    chosen = excerpt_of(lines, 1, weights_of("spoon cup"))
    assert chosen.text.split("\n")[0] == "# the spoon"


def test_a_quoted_sentence_names_the_parameter_that_it_goes_on_to_describe() -> None:
    lines = [
        "def stir(spoon):",
        '    """Stirs the cup.',
        "",
        "    :param spoon: What to do.",
        "",
        "        - ``slow``: Sugar melts very slowly.",
    ]
    chosen = excerpt_of([*lines, '    """', "    return spoon"], 1, weights_of("sugar melts slowly"))
    assert chosen.said is not None
    assert (chosen.said.text, chosen.said.parameter) == ("``slow``: Sugar melts very slowly.", "spoon")


def long_function(lines: int, at: int = 30) -> list[str]:
    """Return a function of more lines than are shown whole, of which one speaks of routes."""
    body = [f"    self.note({number})" for number in range(lines)]
    return ["def find(self):", *body[:at], "    self.route(request)", *body[at:]]


@pytest.mark.parametrize(("left", "told"), [(MAX_AFTER_LINES - 1, MAX_AFTER_LINES - 1), (60, MAX_AFTER_LINES)])
def test_for_the_place_that_leads_the_lines_below_are_kept_too(left: int, told: int) -> None:
    lines = long_function(MAX_WHOLE_LINES + MAX_REST_LINES + left, at=MAX_WHOLE_LINES + MAX_REST_LINES)
    chosen = excerpt_of(lines, 1, weights_of("route request"))
    behind = lines[chosen.shown_end + len(chosen.rest) :]
    assert list(chosen.after) == behind[:told]


def test_what_follows_ends_with_a_statement_and_within_the_definition() -> None:
    below = ["    if self.more:", *["        self.much(1)"] * 20]
    lines = [*long_function(MAX_WHOLE_LINES + MAX_REST_LINES), *below, "", "other = 1"]
    for at in range(1, len(lines)):
        chosen = excerpt_of(lines[:at], 1, weights_of("route request"))
        if chosen.after:
            assert not chosen.after[-1].rstrip().endswith(":")
            assert "other = 1" not in chosen.after


def test_a_setting_is_not_shown_with_those_that_follow() -> None:
    lines = [f"SETTING_{number} = {number}" for number in range(60)]
    assert excerpt_of(["ROUTE_REQUEST = 1", *lines], 1, weights_of("route request")).after == ()
