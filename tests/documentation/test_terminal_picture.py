"""The picture in the README shows what `jeeves ask` prints, and loads nothing from elsewhere."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.documentation.terminal_picture import PICTURE, QUESTION, asked, drawn

COMMAND = "python -m tests.documentation.terminal_picture"
SVG = "{http://www.w3.org/2000/svg}"


def told(picture: str) -> list[str]:
    """The words of a picture; how confident an answer is changes with each fit of its estimate."""
    texts = [each.text or "" for each in ElementTree.fromstring(picture).iter(f"{SVG}text")]
    return [text for text in texts if "Confidence" not in text]


@pytest.mark.long
def test_the_picture_of_the_readme_shows_the_answer_of_today(tmp_path: Path) -> None:
    shown = PICTURE.read_text(encoding="utf-8")
    assert told(shown) == told(drawn(asked(tmp_path)["answer"])), f"draw it again: {COMMAND}"


def test_the_picture_of_the_readme_loads_nothing_and_has_a_title() -> None:
    shown = PICTURE.read_text(encoding="utf-8")
    assert re.findall(r"(?:href|src|url)\b[^#]{0,3}https?:[^\s\"')]*", shown) == []
    title = ElementTree.fromstring(shown).find(f"{SVG}title")
    assert title is not None
    assert QUESTION in str(title.text)
