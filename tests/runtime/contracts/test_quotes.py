"""Words that were copied from a query are found in it, whatever it is written in."""

from __future__ import annotations

import pytest

from runtime.contracts.quotes import is_quoted

CHINESE = "让 make_str 也能解码 bytearray"


@pytest.mark.parametrize(
    ("quote", "query"),
    [
        ("解码", CHINESE),
        ("make_str", "让make_str也能解码"),
        ("也能解码", CHINESE),
        ("再試行", "ネットワークが失敗したら再試行する"),
        ("make_str", "make_str를 고쳐 주세요"),
        ("ลองใหม่", "ให้โหลดลองใหม่สามครั้ง"),
        ("Don't retry", "Don\u2019t retry on a timeout"),
        ("Don\u2019t retry", "Don't retry on a timeout"),
        ('the "cache"', "leave the \u201ccache\u201d alone"),
        ("re-try", "please re\u2011try"),
        ("ＡＢＣ", "use ABC here"),
        ("make  LOAD", "Make\n`load` or make load retry"),
        ("größer", "Mach es größer"),
        ("load", "reload load"),
    ],
)
def test_words_that_stand_in_a_query_are_quoted(quote: str, query: str) -> None:
    assert is_quoted(quote, query)


@pytest.mark.parametrize(
    ("quote", "query"),
    [
        ("o", "load more"),
        ("loa", "make load retry"),
        ("str", CHINESE),
        ("oad", "reload load"),
        ("编码", CHINESE),
        ("roß", "Mach es größer"),
        (" ", "anything at all"),
        ("\u2019", "no quote"),
        ("make_str", "make_string"),
    ],
)
def test_parts_of_words_and_other_words_are_not_quoted(quote: str, query: str) -> None:
    assert not is_quoted(quote, query)
