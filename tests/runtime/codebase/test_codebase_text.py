from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.codebase.files.path_kinds import kind_of_path, kind_of_place, kinds_asked_for
from runtime.codebase.files.source_text import from_bytes, is_binary, read_source, split_lines
from runtime.codebase.files.words import index_terms, query_terms, split_identifier, stem
from runtime.codebase.parsing.chunks import MAX_CHUNK_LINES, MAX_DATA_LINES, cut
from runtime.codebase.parsing.syntax import Symbol


def test_lines_end_where_editors_end_them() -> None:
    assert split_lines("a\r\nb\x0cc\n\u2028d\n") == ["a", "b\x0cc", "\u2028d"]
    assert split_lines("") == []
    assert split_lines("\n") == [""]
    assert split_lines("a") == ["a"]


@given(st.lists(st.text(alphabet=st.characters(exclude_characters="\r\n"), max_size=8), max_size=20), st.booleans())
def test_lines_joined_and_split_again_are_the_same(lines: list[str], ends_with_newline: bool) -> None:
    text = "\n".join(lines) + ("\n" if ends_with_newline and lines else "")
    expected = lines if ends_with_newline or not lines or lines[-1] else lines[:-1]
    assert split_lines(text) == expected


def test_a_mark_is_dropped_and_broken_bytes_are_replaced_and_noted() -> None:
    assert from_bytes(b"\xef\xbb\xbfx = 1\n").text == "x = 1\n"
    broken = from_bytes(b"caf\xe9\n")
    assert (broken.text, broken.note) == ("caf\ufffd\n", "not valid utf-8, bytes replaced")
    assert from_bytes("x = 1\n".encode("utf-16")).text == "x = 1\n"


@pytest.mark.parametrize(("place", "binary"), [(8191, True), (8192, False)])
def test_a_nul_byte_in_the_first_eight_kilobytes_makes_a_file_binary(tmp_path: Path, place: int, binary: bool) -> None:
    data = b"x" * place + b"\0"
    assert is_binary(data) is binary
    (tmp_path / "f").write_bytes(data)
    assert (read_source(tmp_path, "f") is None) is binary


@pytest.mark.parametrize(("data", "binary"), [(b"%PDF-1.5\nx", True), (b"%PDF", False), (b"See %PDF-1.5\n", False)])
def test_a_pdf_is_binary_though_it_begins_with_text(data: bytes, binary: bool) -> None:
    assert is_binary(data) is binary


@pytest.mark.parametrize(
    "words",
    [
        ("route", "routes", "routing", "routed", "router"),
        ("validate", "validates", "validation", "validator", "validating"),
        ("create", "creates", "created", "creating", "creation"),
        ("parse", "parser", "parsing", "parsed"),
        ("query", "queries"),
        ("class", "classes"),
        ("format", "formatter", "formatting"),
    ],
)
def test_the_forms_of_a_word_have_one_stem(words: tuple[str, ...]) -> None:
    assert len({stem(word) for word in words}) == 1


def test_short_words_and_words_that_only_look_like_plurals_keep_their_form() -> None:
    assert [stem(word) for word in ("bus", "this", "user", "status", "red")] == ["bus", "this", "user", "status", "red"]


def test_identifiers_are_cut_into_parts_and_kept_whole() -> None:
    assert split_identifier("HTTPServerError_v2") == ["http", "server", "error", "v", "2"]
    assert index_terms("getUserNames") == "getusernames get user nam"
    assert index_terms("get_user_names") == "getusernames get user nam"
    assert index_terms("self.route") == "rout"


@given(st.text(max_size=60))
def test_a_question_meets_the_text_that_it_quotes(text: str) -> None:
    assert set(query_terms(text).counts) <= set(index_terms(text).split())


def test_a_question_of_common_words_has_no_terms() -> None:
    assert query_terms("how is this used in the code?").counts == {}


@pytest.mark.parametrize(("word", "term"), [("theme", "them"), ("workers", "work"), ("getter", "get")])
def test_a_word_whose_stem_is_a_common_word_is_looked_for(word: str, term: str) -> None:
    assert query_terms(f"How is the {word} chosen?").counts.keys() == {term, "chosen"}
    assert not query_terms("How does it work for them?").counts


def test_acronyms_in_the_plural_are_words() -> None:
    assert query_terms("How are URLs and IDs matched by APIs?").identifiers == ()
    assert query_terms("getURLs of MyIDs").identifiers == ("getURLs", "MyIDs")


def test_identifiers_of_a_question_are_told_from_its_words() -> None:
    found = query_terms("How does Flask.add_url_rule register URL rules for getUserName and HTTP?")
    assert found.identifiers == ("Flask.add_url_rule", "getUserName")


@st.composite
def nested_symbols(draw: st.DrawFn) -> tuple[list[str], list[Symbol]]:
    """Lines, and symbols that nest as a parser would give them."""
    symbols: list[Symbol] = []

    def place(start: int, end: int, parent: int | None, depth: int) -> None:
        at = start
        while at <= end and draw(st.booleans()):
            first = draw(st.integers(at, end))
            last = draw(st.integers(first, end))
            kind = draw(st.sampled_from(["class", "function", "method", "section", "constant"]))
            symbols.append(Symbol(f"s{len(symbols)}", f"s{len(symbols)}", kind, first, last, first, parent=parent))
            if depth < 3 and kind == "class" and last > first:
                place(first + 1, last, len(symbols) - 1, depth + 1)
            at = last + 1

    count = draw(st.integers(1, 200))
    place(1, count, None, 0)
    lines = [draw(st.sampled_from(["x = 1", "", "# note", "    y()"])) for _ in range(count)]
    return lines, symbols


@given(nested_symbols())
def test_chunks_hold_every_line_with_text_once_and_none_is_too_long(given_file: tuple[list[str], list[Symbol]]) -> None:
    lines, symbols = given_file
    seen: list[int] = []
    for chunk in cut(lines, symbols):
        assert 1 <= chunk.end_line - chunk.start_line + 1 <= MAX_CHUNK_LINES
        seen += range(chunk.start_line, chunk.end_line + 1)
    assert len(seen) == len(set(seen))
    assert seen == sorted(seen)
    assert {number for number, line in enumerate(lines, 1) if line.strip()} <= set(seen)


@pytest.mark.parametrize(("count", "chunks"), [(59, 1), (60, 1), (61, 2)])
def test_a_function_longer_than_a_chunk_is_cut(count: int, chunks: int) -> None:
    symbol = Symbol("f", "f", "function", 1, count, 1)
    found = cut(["x = 1"] * count, [symbol])
    assert len(found) == chunks
    assert {chunk.symbol for chunk in found} == {0}


def test_a_comment_above_a_function_belongs_to_it() -> None:
    lines = ["import os", "", "# why", "def f():", "    pass"]
    assert [tuple(chunk) for chunk in cut(lines, [Symbol("f", "f", "function", 4, 5, 4)])] == [(1, 1, None), (3, 5, 0)]


def test_of_data_only_the_beginning_is_cut() -> None:
    assert cut(["1"] * (MAX_DATA_LINES + 50), [], is_data=True)[-1].end_line == MAX_DATA_LINES


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("src/flask/app.py", "source"),
        ("tests/test_app.py", "test"),
        ("gin_test.go", "test"),
        ("src/a.spec.ts", "test"),
        ("gson/src/test/java/GsonTest.java", "test"),
        ("numpy/testing/_private.py", "source"),
        ("docs/conf.py", "docs"),
        ("README.md", "docs"),
        ("CHANGES.rst", "changelog"),
        ("vendor/lib/x.go", "vendored"),
        ("api_pb2.py", "generated"),
        ("benchmarks/run.py", "benchmark"),
        ("examples/hello.py", "example"),
        ("config/app.yaml", "data"),
        ("src/latest.py", "source"),
        ("shell/history.py", "source"),
        ("src/changes/news.go", "source"),
        ("compiler/lang/parse.rs", "source"),
        ("core/security.py", "source"),
        ("SECURITY.md", "docs"),
        ("PKG-INFO", "docs"),
        ("app/lang/de.json", "translation"),
        ("locale/de/LC_MESSAGES/app.po", "translation"),
        ("src/locale/de.js", "translation"),
        ("types/index.d.ts", "declaration"),
        ("index.d.cts", "declaration"),
        ("pkg/core.pyi", "declaration"),
        ("src/id.ts", "source"),
        ("t/unit/app.py", "test"),
        ("regress/run.sh", "test"),
        ("src/test_parse.c", "test"),
        ("src/testing.c", "source"),
        ("man/app.8", "docs"),
        (".github/workflows/check.sh", "data"),
        (".pylintrc", "data"),
        ("src/.hidden/app.py", "source"),
        ("features/post_data.feature", "test"),
        ("features/step_definitions.rb", "source"),
        ("features/step_definitions/site_steps.rb", "test"),
        ("features/support/env.rb", "test"),
        ("src/features/support/page.ts", "source"),
    ],
)
def test_a_path_tells_what_a_file_is_for(path: str, kind: str) -> None:
    assert kind_of_path(path) == kind


@pytest.mark.parametrize(
    ("path", "symbol", "kind"),
    [
        ("src/outliers.rs", "test_finds_outliers", "test"),
        ("src/outliers.rs", "tests.finds_outliers", "test"),
        ("src/outliers.rs", "Connection.test", "source"),
        ("src/outliers.rs", "testing.find", "source"),
        ("pool/health.py", "test_connection", "source"),
        ("src/outliers.rs", None, "source"),
    ],
)
def test_a_test_in_a_source_file_is_a_test(path: str, symbol: str | None, kind: str) -> None:
    assert kind_of_place(path, symbol) == kind


def test_a_question_about_tests_asks_for_tests() -> None:
    assert "test" in kinds_asked_for("Which tests cover redirects?")
    assert kinds_asked_for("How are redirects followed?") == frozenset()


def test_a_report_asks_for_tests_only_in_its_title_or_a_question() -> None:
    report = "Redirects lose the body\n\nThe body is gone. Tests were added, and a line in the changelog."
    assert kinds_asked_for(report) == frozenset()
    assert kinds_asked_for("Tests for redirects\n\nThe body is gone.") == {"test"}
    assert kinds_asked_for(report + " Which tests cover this?") == {"test"}
    assert kinds_asked_for("The body is gone.\nDo the examples show it? Tests were added.") == {"example"}
