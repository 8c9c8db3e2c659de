"""The pictures in the README show what `jeeves ask` and `jeeves runs why` print, and load nothing from elsewhere."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.documentation.terminal_picture import (
    PICTURE,
    QUESTION,
    RUN_PICTURE,
    asked,
    drawn,
    drawn_run,
    explained,
)

COMMAND = "python -m tests.documentation.terminal_picture"
SVG = "{http://www.w3.org/2000/svg}"


def told(picture: str) -> list[str]:
    """The words of a picture; how confident an answer is changes with each fit of its estimate."""
    texts = [each.text or "" for each in ElementTree.fromstring(picture).iter(f"{SVG}text")]
    return [text for text in texts if "Confidence" not in text]


@pytest.mark.long
def test_the_pictures_of_the_readme_show_the_answer_and_the_run_of_today(tmp_path: Path) -> None:
    document = asked(tmp_path)
    assert told(PICTURE.read_text(encoding="utf-8")) == told(drawn(document["answer"])), f"draw it again: {COMMAND}"
    run = drawn_run(explained(tmp_path, document["run_id"]))
    assert told(RUN_PICTURE.read_text(encoding="utf-8")) == told(run), f"draw it again: {COMMAND}"


@pytest.mark.parametrize("picture", [PICTURE, RUN_PICTURE], ids=["answer", "run"])
def test_a_picture_of_the_readme_loads_nothing_and_has_a_title(picture: Path) -> None:
    shown = picture.read_text(encoding="utf-8")
    assert re.findall(r"(?:href|src|url)\b[^#]{0,3}https?:[^\s\"')]*", shown) == []
    title = ElementTree.fromstring(shown).find(f"{SVG}title")
    assert title is not None
    assert QUESTION in str(title.text)
