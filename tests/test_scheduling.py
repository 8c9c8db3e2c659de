"""The order in which processes take tests leaves none out, and tears none apart that belong together."""

from __future__ import annotations

from itertools import groupby

import pytest

from tests.scheduling import begins_with_long, scope_of


def test_each_test_is_there_once_beside_those_that_it_stays_together_with(request: pytest.FixtureRequest) -> None:
    items = request.session.items
    ordered = [item.nodeid for item in begins_with_long(items)]
    assert sorted(ordered) == sorted(item.nodeid for item in items)
    scopes = [scope for scope, _ in groupby(ordered, key=scope_of)]
    assert len(scopes) == len(set(scopes))
