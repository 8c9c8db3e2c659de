"""What a thing is and does."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.capabilities.code_analysis.answers.named_types.named_type import MAX_MEMBERS, MAX_SHOWN_LINES
from actors.capabilities.code_analysis.kinds.what import KIND
from actors.capabilities.code_analysis.question.analysis import analyse
from runtime.codebase.tool_parts.documentation_lines import MAX_COMMENT_LINES
from tests.capabilities.code_analysis.kinds.asking import step_ids, told_of
from tests.capabilities.code_analysis.support import AnalysisHarness, write_files


@pytest.mark.parametrize(
    "text",
    [
        "What is BackgroundTask?",
        "What does decide do?",
    ],
)
def test_it_is_told_by_its_wording(text: str) -> None:
    assert analyse(text).kind == KIND.name


@pytest.mark.parametrize(
    "text",
    [
        "What calls decide?",
        "What happens when it fails?",
        "What is this project?",
    ],
)
def test_what_only_sounds_like_it_is_of_another_kind(text: str) -> None:
    assert analyse(text).kind != KIND.name


def test_its_code_and_what_it_passes_its_work_on_to_are_read() -> None:
    assert step_ids("What does `decide` do?") == [
        "find",
        "name0",
        "read",
        "whole",
        "members",
        "use0",
        "use",
        "inner",
        "inner_calls",
    ]


def test_only_of_a_name_are_members_asked_for() -> None:
    assert "members" not in step_ids("What is the thing that keeps parcels?")


async def told(tmp_path: Path, question: str, **files: str) -> str:
    write_files(tmp_path / "repo", {name.replace("__", "."): text for name, text in files.items()})
    return await told_of(await AnalysisHarness.open(tmp_path / "repo", tmp_path / "state"), question)


def depot(methods: int, more: str = "") -> str:
    """A class in Python with a constructor, a value, a private method, and so many others."""
    own = "".join(
        f'    def take_{number}(self, parcel):\n        """Take parcel {number} in."""\n        self._put(parcel)\n\n'
        for number in range(methods)
    )
    return (
        'class Depot:\n    """Keeps parcels until a van comes."""\n\n    room = 9\n\n'
        "    def __init__(self):\n        self._shelf = []\n\n"
        f"{own}    def _put(self, parcel):\n        self._shelf.append(parcel)\n{more}"
    )


@pytest.mark.parametrize(
    ("methods", "heading"),
    [(MAX_MEMBERS - 1, "**What it has**\n"), (MAX_MEMBERS, f"**What it has** ({MAX_MEMBERS} of {MAX_MEMBERS + 1})\n")],
)
async def test_a_type_is_told_by_what_it_has_and_not_by_what_it_calls(
    tmp_path: Path, methods: int, heading: str
) -> None:
    answer = await told(tmp_path, "What is `Depot`?", depot__py=depot(methods))
    assert heading in answer
    assert "- `take_0`: «Take parcel 0 in.» [depot.py:9-11]" in answer
    assert answer.index("`take_1`") < answer.index("`take_2`")
    assert ("- `room`: `room = 9`" in answer) is (methods < MAX_MEMBERS)
    assert "_put" not in answer
    assert "_shelf" not in answer
    assert "How it goes" not in answer
    assert "See also" not in answer


@pytest.mark.parametrize(("lines", "is_shown"), [(MAX_SHOWN_LINES, True), (MAX_SHOWN_LINES + 1, False)])
async def test_the_code_of_a_short_type_is_shown_as_well(tmp_path: Path, lines: int, is_shown: bool) -> None:
    body = "".join(f"    size_{number} = {number}\n" for number in range(lines - 1))
    answer = await told(tmp_path, "What is `Parcel`?", parcel__py=f"class Parcel:\n{body}\n\nlast = 1\n")
    assert ("```" in answer) is is_shown
    assert "**What it has** (12 of" in answer


async def test_of_a_type_that_is_too_large_to_map_a_part_is_told_and_that_there_is_more(tmp_path: Path) -> None:
    answer = await told(tmp_path, "What is `Depot`?", depot__py=depot(400))
    assert f"**What it has** ({MAX_MEMBERS} of more than {MAX_MEMBERS})" in answer
    assert "- `take_0`: «Take parcel 0 in.»" in answer


GO = """package yard

// Yard keeps vans.
type Yard struct {
\tvans int
}

// Park takes a van in.
func (y *Yard) Park() { y.count() }

func (y *Yard) count() { y.vans++ }
"""
RUST = """/// Keeps vans.
pub struct Yard { vans: u32 }

impl Yard {
    /// Takes a van in.
    pub fn park(&mut self) { self.count() }

    fn count(&mut self) { self.vans += 1 }
}
"""
CS = """/// <summary>Keeps vans.</summary>
public class Yard {
    int vans;

    /// <summary>Takes a van in.</summary>
    public void Park() { Count(); }

    void Count() { vans++; }
}
"""


@pytest.mark.parametrize(
    ("file", "code", "park"), [("yard__go", GO, "Park"), ("yard__rs", RUST, "park"), ("yard__cs", CS, "Park")]
)
async def test_what_others_cannot_call_by_the_rules_of_the_language_is_left_out(
    tmp_path: Path, file: str, code: str, park: str
) -> None:
    answer = await told(tmp_path, "What is `Yard`?", **{file: code})
    has = answer.partition("**What it has**")[2].partition("\n\n**")[0]
    assert f"- `{park}`: " in has
    assert "ount`" not in has
    assert "- `vans`" not in has


@pytest.mark.parametrize("lines", [MAX_COMMENT_LINES, MAX_COMMENT_LINES + 1])
async def test_a_type_below_a_very_long_comment_is_told_with_or_without_it(tmp_path: Path, lines: int) -> None:
    comment = "/// Keeps vans of all kinds overnight.\n" + "///\n" * (lines - 1)
    code = comment + RUST.partition("\n")[2]
    answer = await told(tmp_path, "What is `Yard`?", yard__rs="use std::fmt;\n\n" + code)
    says = "«Keeps vans of all kinds overnight.»" if lines == MAX_COMMENT_LINES else "`pub struct Yard`"
    assert answer.startswith(f"`Yard` is a struct in `yard.rs`: {says}")
    assert "No definition" not in answer
