"""Rebuilds errors of the one tree from problem documents of the service and broken connections."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import httpx2

from runtime.bus.queries import class_of_code
from runtime.errors import ClusterError, InputError, JeevesError, MachineError, NotPermittedError, RepositoryError

UNAUTHORIZED = 401
SCOPE_LACKING = "scope_lacking"
SERVER_ERRORS = 500

# How what was asked is found when the service answers again.
_FOUND_BY = {"run_id": "what was accepted goes on as run", "key": "the question was sent with the key"}
# Attributes that every error has of its own.
_TAKEN = frozenset({*dir(JeevesError), "message", "values", "self"})


def error_of_response(response: httpx2.Response) -> JeevesError:
    """Return the error of a response whose body is read."""
    retry_after = response.headers.get("retry-after", "")
    problem: dict[str, Any] = {"detail": response.reason_phrase, **_members(response)}
    values = {"retry_after_s": int(retry_after)} if retry_after.isdigit() else {}
    return error_of_problem({**problem, "status": response.status_code}, values)


def error_of_problem(problem: Mapping[str, Any], values: Mapping[str, Any] | None = None) -> JeevesError:
    """Return the error of a problem document: the class of its code, with its values.

    A code that is no error of the tree gives NotPermittedError for 401 and a scope that lacks, else InputError for the
    caller's faults and MachineError for the service's, with `status` and `service_code`. A repository that the service
    does not have gives RepositoryError.
    """
    told = problem.get("values")
    found = {**(values or {}), **(told if isinstance(told, dict) else {})}
    if "run_id" in problem:
        found.setdefault("run_id", problem["run_id"])
    code, status = str(problem.get("code", "")), problem.get("status")
    kind = class_of_code(code)
    if kind is JeevesError:
        kind = _kind_of(code, status if isinstance(status, int) else SERVER_ERRORS)
        found = {**found, "status": status, "service_code": code}
    if issubclass(kind, InputError) and "repo" in found:
        kind = RepositoryError  # as where repositories are folders
    kept = {name: value for name, value in found.items() if name.isidentifier() and name not in _TAKEN}
    return kind(str(problem.get("detail", "")), **kept)


def code_of_problem(response: httpx2.Response) -> str:
    """Return the code of a problem document whose body is read; empty for another body."""
    return str(_members(response).get("code", ""))


def unreachable(url: str, error: Exception, about: Mapping[str, str]) -> ClusterError:
    """Return the error for a service that does not answer; `about`: the run_id or the key of what was asked."""
    told = "".join(f"; {_FOUND_BY[name]} {value}" for name, value in about.items())
    return ClusterError(f"the service at {url} does not answer: {reason_of(error)}{told}", **about)


def reason_of(error: Exception) -> str:
    """Return what happened to a connection; errors of the protocol are named alone: their texts may hold headers."""
    text = "" if isinstance(error, httpx2.ProtocolError) else str(error)[:200]
    return text or type(error).__name__


def _members(response: httpx2.Response) -> dict[str, Any]:
    try:
        found = json.loads(response.content)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _kind_of(code: str, status: int) -> type[JeevesError]:
    if status == UNAUTHORIZED or code == SCOPE_LACKING:
        return NotPermittedError
    return MachineError if status >= SERVER_ERRORS else InputError
