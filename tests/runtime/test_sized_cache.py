from __future__ import annotations

import pytest

from runtime.primitives.sized_cache import SizedCache


def test_what_was_used_least_recently_is_dropped_first() -> None:
    cache: SizedCache[str, int] = SizedCache(3)
    for name in ("a", "b", "c"):
        cache.put(name, ord(name), 1)
    assert cache.get("a") == ord("a")
    cache.put("d", ord("d"), 1)
    assert [cache.get(name) for name in ("a", "b", "c", "d")] == [ord("a"), None, ord("c"), ord("d")]


@pytest.mark.parametrize(("size", "kept"), [(9, True), (10, True), (11, False)])
def test_a_value_larger_than_the_whole_cache_is_not_kept_and_drops_nothing(size: int, kept: bool) -> None:
    cache: SizedCache[str, str] = SizedCache(10)
    cache.put("small", "x", 1)
    cache.put("large", "y", size)
    assert (cache.get("large") == "y") is kept
    assert (cache.get("small") == "x") is (size != 10)


def test_a_value_put_again_counts_once() -> None:
    cache: SizedCache[str, int] = SizedCache(4)
    for turn in range(10):
        cache.put("a", turn, 3)
    cache.put("b", 0, 1)
    assert (cache.get("a"), cache.get("b"), len(cache)) == (9, 0, 2)


def test_a_value_that_has_grown_too_large_is_dropped_with_its_earlier_one() -> None:
    cache: SizedCache[str, int] = SizedCache(4)
    cache.put("a", 1, 2)
    cache.put("a", 2, 5)
    assert (cache.get("a"), len(cache)) == (None, 0)
