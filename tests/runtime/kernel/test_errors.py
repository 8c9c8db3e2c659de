"""The error tree: every class pickles with what it speaks of, and none shares its code."""

from __future__ import annotations

import pickle

import pytest

from runtime import errors
from runtime.bus.queries import error_from_wire, error_to_wire
from runtime.errors import JeevesError


def all_errors(kind: type[JeevesError] = JeevesError) -> list[type[JeevesError]]:
    return [kind, *(deeper for child in kind.__subclasses__() for deeper in all_errors(child))]


@pytest.mark.parametrize("kind", all_errors(), ids=lambda kind: str(kind.__name__))
def test_an_error_survives_pickling_with_its_message_and_attributes(kind: type[JeevesError]) -> None:
    error = kind("no tool is named 'x'", name="x", known=["a", "b"])
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is kind
    assert str(copy) == copy.message == "no tool is named 'x'"
    assert (vars(copy)["name"], vars(copy)["known"]) == ("x", ["a", "b"])
    assert copy.values == {"name": "x", "known": ["a", "b"]}


@pytest.mark.parametrize("kind", all_errors(), ids=lambda kind: str(kind.__name__))
def test_an_error_comes_back_from_the_wire_as_the_class_of_its_code(kind: type[JeevesError]) -> None:
    copy = error_from_wire(error_to_wire(kind("why")))
    assert type(copy) is kind
    assert copy.message == "why"


def test_no_two_errors_share_a_code() -> None:
    codes = [kind.code for kind in all_errors()]
    assert len(set(codes)) == len(codes)


def test_every_error_is_drawn_in_the_tree_of_the_module() -> None:
    drawn = str(errors.__doc__)
    assert [
        kind.__name__ for kind in all_errors() if kind.__module__ == errors.__name__ and kind.__name__ not in drawn
    ] == []


def test_what_the_caller_did_wrong_exits_with_two_and_the_rest_with_one() -> None:
    for kind in all_errors():
        assert kind.exit_status == (2 if issubclass(kind, errors.InputError) else 1)


def test_an_error_of_somebody_else_travels_as_internal() -> None:
    parts = error_to_wire(ValueError("odd"))
    assert parts == {"code": "internal", "message": "ValueError: odd"}
    assert type(error_from_wire(parts)) is JeevesError
