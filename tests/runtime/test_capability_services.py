"""Services of a capability that cannot be opened."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from runtime.agents.capability import Capability, services_of
from runtime.errors import CapabilityError, JeevesError, StateStorageError


def broken(_settings: Mapping[str, Any]) -> Any:
    raise KeyError("boom")


def refused(_settings: Mapping[str, Any]) -> Any:
    raise StateStorageError("no room", problem="full")


def test_a_capability_that_cannot_open_its_services_is_named() -> None:
    with pytest.raises(
        CapabilityError, match=r"capability 'liar'.*test_capability_services.*KeyError: 'boom'"
    ) as caught:
        services_of(Capability(id="liar", open_services=broken), {})
    assert caught.value.values["capability"] == "liar"
    assert isinstance(caught.value.__cause__, KeyError)


def test_an_error_with_a_name_of_its_own_stays_as_it_is() -> None:
    with pytest.raises(JeevesError) as caught:
        services_of(Capability(id="honest", open_services=refused), {})
    assert type(caught.value) is StateStorageError
