"""None tells that the rest is skipped where the one result of a block is surely something whenever it goes on."""

from __future__ import annotations

import textwrap

import pytest

from actors.capabilities.violation_fix.refactoring.extraction import extract_function
from actors.capabilities.violation_fix.refactoring.outcomes import Refactored, Refused

HEAD = "def load(rows, log, cache):\n    for row in rows:\n        page = cache.get(row)\n"
TAIL = "        log(page)\n    return log\n"


def extracted(body: str, tail: str = TAIL) -> Refactored | Refused:
    block = textwrap.indent(textwrap.dedent(body).strip("\n"), "        ") + "\n"
    last = 3 + block.count("\n")
    return extract_function(HEAD + block + tail, 3, last, "_read_page")


SURE = {
    "is asked for": "if page is None:\n    continue",
    "is asked for as a truth": "if not page:\n    continue",
    "is one of several conditions": "if page is None or log.off:\n    continue",
    "is used": "if page is None:\n    page = log.read(row)\n    if not page.is_valid():\n        continue",
    "gets an attribute": "if page is None:\n    page = log.read(row)\n    page.row = row\nif log.off:\n    continue",
    "is looked into": "print(page[0])\nif log.off:\n    continue",
    "is called": "page()\nif log.off:\n    continue",
    "is a builtin": "if not isinstance(page, (str, bytes)):\n    continue",
    "is made": "if page is None:\n    page = []\nif log.off:\n    continue",
    "is asked for by a loop": "while not page:\n    page = log.read(row)\nif log.off:\n    continue",
}


@pytest.mark.parametrize("body", SURE.values(), ids=SURE)
def test_what_goes_on_with_something_skips_by_none(body: str) -> None:
    done = extracted(body)
    assert isinstance(done, Refactored), done
    call = "        page = _read_page("
    assert call in done.source
    assert "        if page is None:\n            continue\n        log(page)\n" in done.source


MAYBE_NONE = {
    "is asked for otherwise": "if page is not None:\n    log(1)\nif log.off:\n    continue",
    "is asked for by another condition": "if page is None and log.off:\n    continue",
    "is used in one case": "if log.on:\n    page.open()\nif log.off:\n    continue",
    "is used where a condition is true": "log.on and page.open()\nif log.off:\n    continue",
    "is used later by a function": "log(lambda: page.open())\nif log.off:\n    continue",
    "has what None has": "print(page.__class__)\nif log.off:\n    continue",
    "may be of any class": "if not isinstance(page, object):\n    continue",
    "is bound after it was used": "page.open()\npage = log.read(row)\nif log.off:\n    continue",
    "is used where the exception is caught": (
        "try:\n    page.open()\nexcept AttributeError:\n    log(1)\nif log.off:\n    continue"
    ),
    "is used where a manager may eat the exception": "with log.quiet():\n    page.open()\nif log.off:\n    continue",
    "is bound as the exception comes": (
        "if not page:\n    continue\ntry:\n    page = log.read(row)\nexcept OSError:\n    log(1)"
    ),
}


@pytest.mark.parametrize("body", MAYBE_NONE.values(), ids=MAYBE_NONE)
def test_what_may_be_none_is_refused(body: str) -> None:
    refused = extracted(body)
    assert isinstance(refused, Refused), refused.source
    assert refused.code == "outputs_with_jump"


def test_what_is_read_after_the_jump_is_refused() -> None:
    refused = extracted(SURE["is asked for"], TAIL.replace("return log", "return log, page"))
    assert isinstance(refused, Refused)
