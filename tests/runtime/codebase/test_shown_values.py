"""Which constants of the lines shown of a place are told with their numbers, and which are not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runtime.codebase.codebase import Codebase
from runtime.codebase.index.writer import refresh
from runtime.codebase.resolution.default_values.kept_values import KeptValues
from runtime.codebase.tools.locate import locate
from tests.runtime.codebase.sample_repository import write_files

LOOM = {
    "loom/limits.py": "MAX_THREADS = 64\nMIN_TENSION = 3\nWEAVE_TIMEOUT = 5 * 60\nFLAG_LIMIT = 0x20\nMAX_TWICE = 4\n"
    "MAX_TWICE = 5\nMAX_ONE = 1\nTOKEN_SECRET_LENGTH = 'hunter2hunter2'\n",
    "loom/states.py": "COUNT_IDLE = 2\nCOUNT_BUSY = 3\nCOUNT_DONE = 4\n",
    "loom/weave.py": "import os\n"
    "from loom.limits import (\n    FLAG_LIMIT, MAX_ONE, MAX_THREADS, MAX_TWICE, TOKEN_SECRET_LENGTH, WEAVE_TIMEOUT)\n"
    "from loom.states import COUNT_BUSY\nfrom elsewhere import MAX_YARN\n\n"
    "MAX_SHUTTLES = os.getenv('SHUTTLES', 8)\n\n\n"
    "def {name}(threads):\n    {body}\n",
    "loom/Loom.java": "class Loom {\n    private static final int MAX_BOBBINS = 12;\n\n"
    "    void thread(int bobbins) {\n        if (bobbins > MAX_BOBBINS) throw new Full();\n    }\n}\n",
    "loom/spin.rs": "impl Wheel {\n    const TURNS_BETWEEN_OILING: usize = 128;\n\n    fn oil(&self, turns: usize) {\n"
    "        if turns % Self::TURNS_BETWEEN_OILING == 0 {\n            self.drip();\n        }\n    }\n}\n",
}


def chains_in(
    opened: Callable[[Path], Codebase], root: Path, question: str, body: str = "pass"
) -> list[dict[str, Any]]:
    files = {name: text.replace("{name}", "weave").replace("{body}", body) for name, text in LOOM.items()}
    write_files(root, files)
    codebase = opened(root)
    result = locate(codebase, question, 12)
    told = []
    for chain in (chain for row in result.data["results"][:1] for chain in row.get("constants", ())):
        for step in chain["steps"]:
            citation = result.citations[step["citation"]]
            assert (citation.file, citation.start_line) == (step["file"], step["line"])
            assert step["text"] in codebase.read_lines(step["file"], step["line"], step["line"])[0]
        told.append(chain)
    return told


def constants(
    opened: Callable[[Path], Codebase], root: Path, question: str, body: str = "pass"
) -> list[tuple[str, str]]:
    return [(chain["name"], chain["value"]) for chain in chains_in(opened, root, question, body)]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What happens when too many bobbins are threaded?", ("MAX_BOBBINS", "12")),
        ("When is the wheel to oil after how many turns?", ("TURNS_BETWEEN_OILING", "128")),
    ],
    ids=["java", "rust"],
)
def test_a_constant_of_the_lines_is_told_with_its_number(
    opened: Callable[[Path], Codebase], root: Path, question: str, expected: tuple[str, str]
) -> None:
    assert constants(opened, root, question) == [expected]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return threads > MAX_THREADS", [("MAX_THREADS", "64")]),
        ("return threads > MAX_THREADS and WEAVE_TIMEOUT", [("MAX_THREADS", "64"), ("WEAVE_TIMEOUT", "5 * 60")]),
        (
            "return (threads > MAX_THREADS, WEAVE_TIMEOUT, MAX_SHUTTLES)",
            [("MAX_THREADS", "64"), ("WEAVE_TIMEOUT", "5 * 60")],
        ),
        ("return threads > MAX_SHUTTLES", [("MAX_SHUTTLES", "8")]),
        ("return threads & FLAG_LIMIT", []),
        ("return threads > MAX_TWICE", []),
        ("return threads > MAX_ONE", []),
        ("return threads > MAX_YARN", []),
        ("return threads == COUNT_BUSY", []),
        ("return threads == TOKEN_SECRET_LENGTH", []),
        ("MAX_THREADS = 9\n    return threads > MAX_THREADS", []),
        ("return 'MAX_THREADS'  # MAX_THREADS", []),
    ],
    ids=[
        *("one", "two", "no third", "fallback", "mask", "bound twice", "one says nothing", "from elsewhere"),
        *("of a series", "secret", "a variable hides it", "text and comment"),
    ],
)
def test_only_a_quantity_with_one_proof_is_told(
    opened: Callable[[Path], Codebase], root: Path, body: str, expected: list[tuple[str, str]]
) -> None:
    assert constants(opened, root, "How does it weave threads?", body) == expected


@pytest.mark.parametrize("digits", [40, 41, 5_000])
def test_a_number_of_many_digits_ends_nothing(opened: Callable[[Path], Codebase], root: Path, digits: int) -> None:
    body = f"return threads > MAX_LONG\n\n\nMAX_LONG = {'9' * digits}"
    expected = [("MAX_LONG", "9" * digits)] if digits <= 40 else []
    assert constants(opened, root, "How does it weave threads?", body) == expected


def test_a_name_alone_tells_no_constants(opened: Callable[[Path], Codebase], root: Path) -> None:
    assert constants(opened, root, "weave", "return threads > MAX_THREADS") == []


@pytest.mark.parametrize(("name", "role"), [("MAX_THREADS", "constant"), ("MAX_SHUTTLES", "default")])
def test_what_may_be_set_outside_is_told_as_a_default(
    opened: Callable[[Path], Codebase], root: Path, name: str, role: str
) -> None:
    (chain,) = chains_in(opened, root, "How does it weave threads?", f"return threads > {name}")
    assert chain["role"] == role


def test_an_edited_constant_is_told_with_its_new_number(root: Path, opened: Callable[[Path], Codebase]) -> None:
    question = "What happens when too many bobbins are threaded?"
    assert constants(opened, root, question) == [("MAX_BOBBINS", "12")]
    codebase = opened(root)
    for number in (12, 13, 14, 12):
        text = LOOM["loom/Loom.java"].replace("12", str(number))
        (root / "loom/Loom.java").write_text(text)
        refresh(root, codebase.index.path)
        result = locate(codebase, question, 12)
        told = [chain["value"] for row in result.data["results"][:1] for chain in row.get("constants", ())]
        assert told == [str(number)]


def test_a_file_is_parsed_once_for_each_of_its_contents_and_at_most_so_much_is_kept() -> None:
    kept = KeptValues(max_chars=20)
    first = kept.of("a.py", "A_MAX = 1\n", "python")
    assert kept.of("a.py", "A_MAX = 1\n", "python") is first
    other = kept.of("b.py", "A_MAX = 1\n", "python")
    assert other is not None and [site.file for site in other.named("A_MAX")] == ["b.py"]
    assert kept.of("a.py", "A_MAX = 1\n", "python") is first
    kept.of("a.py", "A_MAX = 2\n", "python")
    assert kept.of("a.py", "A_MAX = 1\n", "python") is first
    assert kept.of("b.py", "A_MAX = 1\n" * 3, "python") is not kept.of("b.py", "A_MAX = 1\n" * 3, "python")
