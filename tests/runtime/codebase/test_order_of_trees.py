"""The order in which a map lists the files of a tree."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.index.records import IndexedFile
from runtime.codebase.language_registry import all_words
from runtime.codebase.tool_parts.main_first import as_tree

PARTS = st.sampled_from(("a", "b", "tests", "docs", "__init__.py", "x.py", "y.md"))
FILES = st.dictionaries(st.lists(PARTS, min_size=1, max_size=4).map("/".join), st.integers(0, 3), max_size=12)


def places(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts) + 1)]


@given(FILES, st.sampled_from(("", "pkg/sub/")))
def test_files_come_by_the_weight_of_each_folder_on_their_way(weights: dict[str, int], prefix: str) -> None:
    named = {f"{prefix}{path}": weight for path, weight in weights.items()}
    files = [IndexedFile(path, 1, "", "python", 1, "text", "") for path in named]
    heavy: Counter[str] = Counter()
    with_sources: set[str] = set()
    for path, weight in weights.items():
        for place in places(path):
            heavy[place] += weight
            with_sources.update((place,) if kind_of_path(f"{prefix}{path}") == "source" else ())

    def rank(path: str) -> list[tuple[bool, bool, int, str]]:
        heads = all_words("head_files")
        return [
            (place not in with_sources, place.rpartition("/")[2] not in heads, -heavy[place], place)
            for place in places(path)
        ]

    ordered = [file.path.removeprefix(prefix) for file in as_tree(files, named, prefix)]
    # A path that is a file and a folder is none of a file system.
    if not any(other.startswith(f"{path}/") for path in weights for other in weights):
        assert ordered == sorted(weights, key=rank)
    assert sorted(ordered) == sorted(weights)
