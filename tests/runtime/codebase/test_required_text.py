"""Texts that are said to be in every match of a pattern are in it."""

from __future__ import annotations

import re
import warnings

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from runtime.codebase.search.required_text import required_texts
from runtime.codebase.search.text_search import LIKE_ASCII, compile_pattern


@pytest.mark.parametrize(
    ("pattern", "texts"),
    [
        (r"def \w+_async", ("def ", "_async")),
        (r"a\.bcd+e", ("a.bcd",)),
        (r"abc(d(e)f[)]g)+hij", ("abc", "hij")),
        (r"abc[]x]def(?#foo)ghi", ("abc", "def", "ghi")),
        (r"(?<=return )None", ("None",)),
        (r"abcd??efg{2}", ("abc", "ef")[:1]),
        (r"ab", ()),
        (r"abc", ("abc",)),
        (r"abcd", ("abcd",)),
        (r"`[^`]*\bedge\b[^`]*`|\bedge\(", ("edge",)),
        (r"abcdef|x+cde|bcdeg", ("cde",)),
        (r"abc|abc|", ()),
        (r"abc||abc", ()),
        (r"todo|fixme", ()),
    ],
)
def test_what_stands_for_itself_is_required(pattern: str, texts: tuple[str, ...]) -> None:
    assert required_texts(pattern) == texts


@pytest.mark.parametrize(
    "pattern",
    [
        *("(?i)todo|todo", "(?i)todo", "(?x) todo", "(?i:todo)none", r"x\x41bcd", r"(a)\1bcd", r"\N{BULLET}abc"),
        *("[[:alpha:]]abc", "abcd{e<=1}efg", "(abc)?", "(?(1)abc|def)ghi"),
    ],
)
def test_nothing_is_required_where_something_may_change_what_the_rest_means(pattern: str) -> None:
    assert required_texts(pattern) == ()


PARTS = st.sampled_from(
    [
        *(
            "abc",
            "defg",
            " ",
            "K",
            "\u212a",
            "ſs",
            "é",
            r"\.",
            r"\w",
            r"\b",
            r"\n",
            "[a-d]",
            "[^]x]",
            "[]b]",
            ".",
            "^",
            "$",
        ),
        *(
            "*",
            "+",
            "?",
            "{2}",
            "{0,1}",
            "{",
            "}",
            "*?",
            "(",
            ")",
            "(?:",
            "(?=",
            "(?!",
            "(?P<n>",
            "(?P=n)",
            "|",
            r"\1",
            r"\\",
        ),
    ]
)


@given(
    st.lists(PARTS, max_size=8).map("".join),
    st.lists(st.sampled_from("abcdefgK ſks\u212aé.x{}\\\n"), max_size=24),
    st.booleans(),
)
def test_a_text_without_what_is_required_has_no_match(pattern: str, chars: list[str], case_sensitive: bool) -> None:
    text = "".join(chars)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            re.compile(pattern)
            regex.compile(pattern)
        except (re.error, regex.error):
            return
        for is_expression in (True, False):
            if not pattern:
                continue
            compiled = compile_pattern(pattern, regex=is_expression, case_sensitive=case_sensitive)
            if compiled.search(text) is not None:
                assert compiled.required.may_be_in(text), (pattern, compiled.required)


def test_no_other_signs_equal_ascii_ones_where_case_does_not_count() -> None:
    signs = "".join(chr(number) for number in range(128, 0x110000) if not 0xD800 <= number < 0xE000)
    for module in (re, regex):
        assert set(module.findall("[a-z]", signs, module.IGNORECASE)) <= set(LIKE_ASCII)
        assert not module.findall(r"[\0-@\[-`{-\x7f]", signs, module.IGNORECASE)


@pytest.mark.parametrize(("total_bytes", "literal"), [(99, ""), (100, ""), (101, "_async")])
def test_files_are_selected_by_what_an_expression_requires_where_they_do_not_fit_into_memory(
    total_bytes: int, literal: str
) -> None:
    expression = compile_pattern(r"def \w+_async", regex=True, case_sensitive=True)
    assert expression.required.selecting(total_bytes, 100) == literal


@pytest.mark.parametrize(
    ("pattern", "regex", "case_sensitive", "literal"),
    [
        ("Retry", False, True, "Retry"),
        ("Retry", False, False, "retry"),
        ("Größe", False, False, ""),
        ("a|b", True, True, ""),
        # A blank is no part of what tells files apart.
        (r"def \w*seal\w*\(", True, True, "seal"),
        (r"def \w*sea\w*\(", True, True, "def "),
    ],
)
def test_a_string_selects_by_itself_and_what_other_letters_may_equal_by_nothing(
    pattern: str, regex: bool, case_sensitive: bool, literal: str
) -> None:
    compiled = compile_pattern(pattern, regex=regex, case_sensitive=case_sensitive)
    assert compiled.required.selecting(2, 1) == literal
