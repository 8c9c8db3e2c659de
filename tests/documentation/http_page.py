"""Generates the page of HTTP routes from the OpenAPI document of the service."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI

from runtime.store.options import StoreOptions
from serve.http.answering.service import Service, ServiceSpec
from serve.http.app import http_app
from tests.documentation.markdown import code, form, prose, table
from tests.doors.http_site import routed


class _NoRuns:
    """Stands where a system would answer; describing the routes asks it nothing."""

    def __getattr__(self, name: str) -> Any:
        return _refuse


def _refuse(*_arguments: object) -> Any:
    raise AssertionError("describing the routes needs no system")


def application() -> FastAPI:
    """Return the application of a service with the default settings, which answers nothing."""
    spec = ServiceSpec("code_analysis", {}, {"sample": "/sample"}, "rules", 100_000, StoreOptions("/nowhere"))
    runs: Any = _NoRuns()
    return routed(http_app(Service(runs, spec)))


def openapi() -> dict[str, Any]:
    """Return the OpenAPI document of a service with the default settings."""
    return application().openapi()


def http_page() -> str:
    """Return the page: each route with its parameters, body and answers."""
    document = openapi()
    lines = [
        "# HTTP routes",
        "",
        "Generated from the OpenAPI document, which `jeeves serve` shows at `/openapi.json`.",
        "[Over HTTP](../http.md) has tokens, limits and errors in prose.",
        "",
        prose(document["info"]["description"]),
        "",
    ]
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            lines += _operation(method, path, operation)
    lines += ["## Bodies", ""]
    for name, schema in document["components"]["schemas"].items():
        lines += _schema(name, schema)
    return "\n".join(lines) + "\n"


def _operation(method: str, path: str, operation: dict[str, Any]) -> Iterator[str]:
    yield from (f"## `{method.upper()} {path}`", "", prose(operation.get("description", operation["summary"])), "")
    rows = [
        (code(each["name"]), each["in"], "required" if each.get("required") else "", form(each["schema"]))
        for each in operation.get("parameters", ())
    ]
    if rows:
        yield from table(("parameter", "in", "", "form"), rows)
    body = operation.get("requestBody", {}).get("content", {})
    for kind, told in body.items():
        yield from (f"Body, {code(kind)}: {form(told['schema'])}", "")
    answers = ((code(status), prose(told["description"])) for status, told in operation["responses"].items())
    yield from table(("status", "meaning"), answers)


def _schema(name: str, schema: dict[str, Any]) -> Iterator[str]:
    yield from (f"### {code(name)}", "", prose(schema.get("description", "")), "")
    required = schema.get("required", ())
    rows = [
        (code(key), "required" if key in required else "", form(each))
        for key, each in schema.get("properties", {}).items()
    ]
    if rows:
        yield from table(("field", "", "form"), rows)
