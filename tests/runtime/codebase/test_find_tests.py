"""Tests that fit a question: pieces of tests by their titles, in the ways in which languages declare them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.codebase.codebase import Codebase
from runtime.codebase.index.writer import refresh
from runtime.codebase.tools.find_tests import find_tests
from tests.runtime.codebase.cited import ranges_of, verify
from tests.runtime.codebase.sample_repository import write_files

FILES = {
    "depot/gate.py": (
        'def shorten(name):\n    """Cut off a long name of a van."""\n    return name[:8]\n\n\n'
        'def weigh(parcel):\n    """Weigh a parcel on the scales."""\n    return parcel.grams\n'
    ),
    "tests/test_gate.py": (
        "from depot.gate import shorten, weigh\n\n\n"
        'def make_long_name_of_a_van():\n    """Make a long name that is cut off."""\n    return "v" * 40\n\n\n'
        'def test_a_long_name_of_a_van_is_cut_off():\n    assert shorten("volkswagen van") == "volkswag"\n\n\n'
        "def test_parcels_are_weighed(parcel):\n    assert weigh(parcel) == 5\n"
    ),
    "tests/cases/frozen_engine_starts.txt": "start the frozen engine\nexpect: the engine starts in the frost\n",
    "tests/horn.rs": (
        "use horn::honk;\n\n#[test]\n#[ignore]\n// Loud.\nfn honks_twice_at_the_crossing() {\n"
        "    assert_eq!(honk(2), 2);\n}\n\nfn crossing_that_honks_twice() -> u8 {\n    2\n}\n"
    ),
    "spec/lamp_spec.rb": (
        "describe Lamp do\n  it 'dims the lamp in the tunnel' do\n    expect(Lamp.new.dim).to eq(3)\n  end\n\n"
        "  it 'shines at night' do\n    expect(Lamp.new.shine).to eq(9)\n  end\nend\n"
    ),
    "test/wiper.test.js": (
        "describe('the wiper', () => {\n  it('wipes rain off the windscreen', () => {\n"
        "    expect(wipe('rain')).toBe(1);\n  });\n"
        "  it('rests in the sun', () => {\n    expect(wipe('sun')).toBe(0);\n  });\n});\n"
    ),
    "brake/brake_test.go": (
        "package brake\n\nfunc TestBrakesHoldOnIce(t *testing.T) {\n\tif !hold(ice) {\n\t\tt.Fatal()\n\t}\n}\n"
    ),
    "src/test/java/TyreTest.java": (
        "class TyreTest {\n    @Test\n    void burstsAboveThreeBar() {\n"
        "        assertTrue(new Tyre(3.1).isBurst());\n    }\n}\n"
    ),
}


@pytest.fixture
def depot(root: Path, opened: Callable[[Path], Codebase]) -> Codebase:
    write_files(root, FILES)
    return opened(root)


@pytest.fixture(scope="module")
def forest_of_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Codebase]:
    folder = tmp_path_factory.mktemp("forest")
    write_files(folder / "repo", FILES)
    refresh(folder / "repo", folder / "index.sqlite")
    with closing(Codebase.open(folder / "repo", folder / "index.sqlite")) as codebase:
        yield codebase


def titles(codebase: Codebase, query: str) -> list[str]:
    return [row["title"] for row in find_tests(codebase, query).data["tests"]]


@pytest.mark.parametrize(
    ("query", "title", "line"),
    [
        ("Which tests cover cutting off the long name of a van?", "test_a_long_name_of_a_van_is_cut_off", 10),
        ("Is it tested that the frozen engine starts?", "frozen_engine_starts.txt", 1),
        ("Which tests check that it honks at the crossing?", "honks_twice_at_the_crossing", 6),
        ("Where do we test that the lamp dims in the tunnel?", "dims the lamp in the tunnel", 2),
        ("Which tests cover wiping rain off the windscreen?", "wipes rain off the windscreen", 2),
        ("Which tests make sure that brakes hold on ice?", "TestBrakesHoldOnIce", 3),
        ("Which tests show that a tyre bursts above three bar?", "TyreTest.burstsAboveThreeBar", 3),
    ],
)
def test_the_test_is_found_under_its_title(depot: Codebase, root: Path, query: str, title: str, line: int) -> None:
    result = find_tests(depot, query)
    kept, dropped = verify(root, result.citations, ranges_of([result]))
    assert (len(kept), dropped) == (len(result.citations), {})
    first = result.data["tests"][0]
    assert first["title"] == title
    assert first["line"] <= line <= first["end_line"]
    assert result.citations[first["citation"]].file == first["file"]


def test_a_function_right_behind_a_marked_one_is_no_test(depot: Codebase) -> None:
    assert titles(depot, "Which tests check that it honks at the crossing?") == ["honks_twice_at_the_crossing"]


def test_two_tests_in_one_line_have_that_line_each(root: Path, opened: Callable[[Path], Codebase]) -> None:
    one_line = "#[test] fn test_washes_the_van() {} #[test] fn test_washes_the_van_twice() {}\n"
    write_files(root, {"tests/wash.rs": one_line})
    result = find_tests(opened(root), "Which tests cover that it washes the van?")
    assert len(result.data["tests"]) > 0
    assert {(row["line"], row["end_line"]) for row in result.data["tests"]} == {(1, 1)}


def test_what_helps_tests_and_what_is_tested_are_no_tests(depot: Codebase) -> None:
    found = titles(depot, "Which tests cover cutting off the long name of a van?")
    assert not {"make_long_name_of_a_van", "shorten"} & {*found}


@pytest.mark.parametrize("query", ["Which tests cover the parachute of a submarine?", "", "tests"])
def test_no_test_fits_what_none_speaks_of(depot: Codebase, query: str) -> None:
    result = find_tests(depot, query)
    assert (result.status, result.data["tests"]) == ("empty", [])


def test_the_scope_limits_it_and_must_be_in_the_repository(depot: Codebase) -> None:
    query = "Which tests cover cutting off the long name of a van?"
    assert {row["file"] for row in find_tests(depot, query, scope="tests").data["tests"]} == {"tests/test_gate.py"}
    assert "tests/test_gate.py" not in {row["file"] for row in find_tests(depot, query, scope="spec").data["tests"]}
    assert find_tests(depot, query, scope="../elsewhere").status == "denied"


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_so_many_tests_are_given_and_more_are_told(root: Path, opened: Callable[[Path], Codebase], more: int) -> None:
    tests = [f"def test_the_van_is_washed_on_day_{n}():\n    assert washed({n})\n" for n in range(3)]
    write_files(root, {"tests/test_wash.py": "\n\n".join(tests)})
    result = find_tests(opened(root), "Which tests cover that the van is washed?", max_results=3 - more)
    assert len(result.data["tests"]) == min(3, 3 - more)
    assert result.truncated is (more > 0)


def test_a_test_in_several_pieces_is_told_once(root: Path, opened: Callable[[Path], Codebase]) -> None:
    body = "".join(f"    assert washed_van({n}) == 'washed van {n}'\n" for n in range(120))
    write_files(root, {"tests/test_wash.py": f"def test_the_van_is_washed():\n{body}"})
    assert titles(opened(root), "Which tests cover the washed van?") == ["test_the_van_is_washed"]


@given(query=st.text(max_size=60))
def test_of_any_text_each_test_is_cited_or_it_is_empty(forest_of_tests: Codebase, query: str) -> None:
    result = find_tests(forest_of_tests, query)
    assert len(result.citations) == len(result.data["tests"])
    assert (result.status == "empty") is (result.data["tests"] == [])
