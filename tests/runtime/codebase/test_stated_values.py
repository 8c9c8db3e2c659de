"""Whether the sentence is quoted that states the value which a question asks for, where no code is proven to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.codebase.codebase import Codebase
from runtime.codebase.search.values.documented_settings import usage_default
from runtime.codebase.search.values.stated_forms import states
from runtime.codebase.search.values.value_questions import value_parts
from runtime.codebase.tools.locate import locate
from tests.runtime.codebase.sample_repository import write_files

README = """\
# Library

Readers may borrow books and films. A secret shelf phrase must be at least 9 letters long.

The catalogue is rebuilt at most once every 36 hours. Lost cards are replaced within a week.

| option | meaning | default |
|---|---|---|
| `-q`, `--quiet-zone` | Size of the reading corner, in chairs | `14` |

The reminder letter for overdue films is written early. By default it is sent 5 days ahead.

```sh
library --fine-per-day 77   # fines for each day, by default 77
```

A hall seats 30 readers by default. In summer a hall seats 45 readers by default.
"""
DESK = """\
Desk
====

The loan desk opens at `9:30` by default. Its bell may be rung twice, or three times.
"""
HELP = """\
#!/usr/bin/env node
console.log([
  '  -s --shelf-depth   Depth of a wooden shelf, in rows [6]',
  '  --lamp <n>   Brightness of the lamp above the desk (default: 40)',
  '  --ghost   Haunted aisles [see below]',
].join('\\n'))
"""
LIBRARY = {"README.md": README, "docs/desk.rst": DESK, "bin/library.js": HELP}


@pytest.fixture
def library(root: Path, opened: Callable[[Path], Codebase]) -> Codebase:
    write_files(root, LIBRARY)
    return opened(root)


def quoted(codebase: Codebase, question: str) -> list[tuple[str, str]]:
    rows = locate(codebase, question, 12, values=True).data["values"]
    steps = [chain["steps"][-1] for row in rows for chain in row["chains"] if chain["form"] == "stated"]
    return [(f"{step['file']}:{step['line']}", step["text"]) for step in steps]


@pytest.mark.parametrize(
    ("question", "place", "words"),
    [
        ("How long must a secret shelf phrase be at least?", "README.md:3", "at least 9 letters"),
        ("How often is the catalogue rebuilt?", "README.md:5", "once every 36 hours"),
        ("How big is the reading corner by default?", "README.md:9", "`14`"),
        ("At what time does the loan desk open by default?", "docs/desk.rst:4", "9:30"),
        ("How deep is a wooden shelf by default?", "bin/library.js:3", "Depth of a wooden shelf, in rows [6]"),
        ("How bright is the lamp above the desk by default?", "bin/library.js:4", "(default: 40)"),
    ],
)
def test_the_sentence_that_states_the_value_is_quoted(library: Codebase, question: str, place: str, words: str) -> None:
    ((where, text),) = quoted(library, question)
    assert (where, words in text) == (place, True)


@pytest.mark.parametrize(
    "question",
    [
        "How many times may the bell be rung?",  # two numbers
        "How much is the fine for each day by default?",  # an example
        "How many readers does a hall seat by default?",  # two sentences that disagree
        "How many aisles are haunted by default?",  # no value in the brackets
        "How many chairs does the corner accept at least?",  # a default is no bound
        "How long must a library card be at least?",  # another thing
    ],
)
def test_nothing_is_quoted_where_no_sentence_states_one_value_of_what_is_asked(
    library: Codebase, question: str
) -> None:
    assert quoted(library, question) == []


@pytest.mark.parametrize(
    ("question", "text", "value"),
    [
        (
            "Which port does the server use by default?",
            "The host defaults to `here`, and the port defaults to `3000`.",
            "3000",
        ),
        ("Which port does the server use by default?", "The host defaults to `here`.", ""),
        ("How many posts are there?", "It lists the ten most recent posts.", "ten"),
        ("How many posts are there?", "It lists ten pages of posts, and 3 others.", ""),
        ("How long does it wait?", "It waits for 20 apples.", ""),
        ("How long does it wait?", "It waits for 20 seconds.", "20 seconds"),
        ("How often is it sent?", "It is sent within 20 seconds.", ""),
        ("Is it shown by default?", "It is enabled by default.", "enabled"),
        ("Is it shown by default?", "It is not enabled by default.", ""),
        ("From what size on is it compressed?", "@param {Number} [options.threshold=1024] Size in bytes", "1024"),
        ("How large may a file be at most?", "A file may have at most 20 MB.", "20 MB"),
    ],
)
def test_a_sentence_states_a_value_of_the_kind_that_is_asked_for(question: str, text: str, value: str) -> None:
    assert states(text, value_parts(question)[0]) == value


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("  -p, --port <N>   Port to use [8080]", "8080"),
        ("'--port  Port to use [default: 8080]',", "8080"),
        ('"  -t SECONDS  How long to wait (default 20).\\n"', "20"),
        ("--port  Port to use (see below)", None),
        ("--port  Port to use [see the guide]", None),
        ("port  Port to use [8080]", None),
    ],
)
def test_the_default_at_the_end_of_a_line_of_a_help_text_is_read(line: str, value: str | None) -> None:
    told = usage_default(line)
    assert (None if told is None else told[1]) == value
    assert told is None or told[0] in line
