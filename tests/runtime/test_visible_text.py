"""Hidden characters are shown as escapes; what people write stays as it is."""

from __future__ import annotations

import json
import sys
import unicodedata

import pytest

from runtime.primitives.visible_text import visible, visible_json, visible_line


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred", "\\x1b[31mred"),
        ("bell\x07", "bell\\x07"),
        ("\x7f", "\\x7f"),
        ("\x9b31m", "\\x9b31m"),
        ("a\u2028b\u2029c", "a\\u2028b\\u2029c"),
        ("\u202eevil\u2069", "\\u202eevil\\u2069"),
        ("pass\u200bword", "pass\\u200bword"),
        ("ad\u200dmin", "ad\\u200dmin"),
        ("\ufeffbom", "\\ufeffbom"),
        ("\U000e0041", "\\U000e0041"),
        ("x\U000e0100", "x\\U000e0100"),
        ("\udcff.py", "\\udcff.py"),
        ("over\rwritten", "over\\x0dwritten"),
    ],
)
def test_a_character_that_a_terminal_would_not_show_is_escaped(text: str, shown: str) -> None:
    assert visible(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "a\n\tb",
        "Käse",
        "日本語",
        "שלום",
        "می\u200cخواهم",
        "👩\u200d👩\u200d👧",
        "❤\ufe0f",
        "葛\U000e0100",
        "cafe\u0301",
    ],
)
def test_ordinary_writing_is_unchanged(text: str) -> None:
    assert visible(text) == text


def test_lines_of_windows_are_lines() -> None:
    assert visible("a\r\nb") == "a\nb"


def test_one_line_stays_one_line() -> None:
    assert visible_line("a\nb\tc") == "a\\nb\\tc"


def test_no_control_or_separator_or_surrogate_of_unicode_passes() -> None:
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        if unicodedata.category(character) in {"Cc", "Zl", "Zp", "Cs"} and character not in "\n\t":
            assert visible(f"a{character}b") != f"a{character}b", hex(code)
        if unicodedata.bidirectional(character) in {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}:
            assert visible(f"a{character}b") != f"a{character}b", hex(code)


def test_json_keeps_its_value() -> None:
    value = {"text": "\u202e\u2028\x7f\x9b\U000e0041\ud83d", "\u2066key": ["\x1b[2J", "日本語"]}
    for ascii_only in (True, False):
        document = visible_json(json.dumps(value, ensure_ascii=ascii_only))
        assert json.loads(document) == value
        assert visible(document) == document
