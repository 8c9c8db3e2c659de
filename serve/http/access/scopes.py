"""Defines which scopes of an access token open each route.

    ask       ask, and control one's own runs
    watch     see one's own runs, their events and answers, and how the service fares
    operate   see and control the runs of all HTTP callers

A caller without a token, where none is required, has the first two. A route that is not in the table is open to
`operate` alone.
"""

from __future__ import annotations

from runtime.run.bearer_tokens import Scope, TokenRecord
from serve.http.access.token_check import REALM
from serve.http.documents.problems import RefusedError

WITHOUT_TOKEN: tuple[Scope, ...] = ("ask", "watch")

_ASK: tuple[Scope, ...] = ("ask",)
_CONTROL: tuple[Scope, ...] = ("ask", "operate")
_WATCH: tuple[Scope, ...] = ("watch", "operate")
_ANY: tuple[Scope, ...] = ("ask", "watch", "operate")

# Open to everyone, token or not: they tell nothing of anybody.
OPEN_ROUTES: frozenset[str] = frozenset(
    {"health", "ready", "openapi", "dashboard_asset", "dashboard_login", "dashboard_log_in"}
)

# Name of a route → scopes, of which one is enough.
SCOPES_OF_ROUTE: dict[str, tuple[Scope, ...]] = {
    "chat": _ASK,
    "repositories": _ANY,
    "chat_completions": _ASK,
    "models": _ANY,
    "model": _ANY,
    "sessions": _WATCH,
    "session": _WATCH,
    "delete_session": _ASK,
    "governance_health": _WATCH,
    "governance_tool": _WATCH,
    "runs": _WATCH,
    "run": _WATCH,
    "answer": _WATCH,
    "events": _WATCH,
    "stage_output": _WATCH,
    "cancel": _CONTROL,
    "pause": _CONTROL,
    "resume": _CONTROL,
    "answer_interrupt": _CONTROL,
    "fork": _CONTROL,
    "usage": _WATCH,
    "metrics": _WATCH,
    "dashboard": _ANY,
    "dashboard_live": _WATCH,
    "dashboard_system": _WATCH,
    "dashboard_system_live": _WATCH,
    "dashboard_open": _WATCH,
    "dashboard_run": _WATCH,
    "dashboard_run_live": _WATCH,
    "dashboard_decisions": _WATCH,
    "dashboard_ask": _ASK,
    "dashboard_cancel": _CONTROL,
    "dashboard_pause": _CONTROL,
    "dashboard_resume": _CONTROL,
    "dashboard_answer": _CONTROL,
    "dashboard_log_out": _ANY,
}


def scopes_of_route(route: str) -> tuple[Scope, ...]:
    """Return the scopes of which a caller needs one for a route."""
    return SCOPES_OF_ROUTE.get(route, ("operate",))


def check_scope(token: TokenRecord | None, route: str) -> None:
    """Raise RefusedError (403) for a token, or for a caller without one, whose scopes do not open a route."""
    needed = scopes_of_route(route)
    given = WITHOUT_TOKEN if token is None else token.scopes
    if set(needed) & set(given):
        return
    who = "a caller without an access token" if token is None else f"access token {token.token_id} of '{token.name}'"
    detail = f"this needs the scope {' or '.join(needed)}; {who} has {', '.join(given)}"
    challenge = f'{REALM}, error="insufficient_scope", scope="{" ".join(needed)}"'
    raise RefusedError(403, "scope_lacking", detail, {"www-authenticate": challenge, "connection": "close"})
