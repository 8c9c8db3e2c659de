"""docs/typed-context.md: its code runs, prints what it shows, and its budgets are those of the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from runtime.context.section_budgets import SectionBudgets

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "typed-context.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_the_code_of_the_page_prints_the_yaml_that_it_shows(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    for code in blocks("python"):
        exec(compile(code, "typed-context.md", "exec"), names)
    assert capsys.readouterr().out.strip() == blocks("yaml")[0].strip()


def test_the_budgets_of_the_page_are_those_of_the_code() -> None:
    told = {int(number.replace(",", "")) for number in re.findall(r"[\d,]+\d", PAGE.split("## Budgets")[1][:600])}
    assert set(SectionBudgets().model_dump().values()) <= told


def test_the_page_is_linked() -> None:
    assert "typed-context.md" in (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert "typed-context.md" in (ROOT / "docs" / "capabilities.md").read_text(encoding="utf-8")
