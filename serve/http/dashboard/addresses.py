"""Names the addresses of the dashboard's pages; every link, form and redirect of it is made here."""

from __future__ import annotations

import re
from urllib.parse import quote, unquote, urlencode

DASHBOARD = "/api/v1/governance/dashboard"
LOGIN = f"{DASHBOARD}/login"
LOGOUT = f"{DASHBOARD}/logout"
ASK = f"{DASHBOARD}/ask"
OPEN = f"{DASHBOARD}/open"
SYSTEM = f"{DASHBOARD}/system"
LIVE = f"{DASHBOARD}/live"
SYSTEM_LIVE = f"{SYSTEM}/live"
RUNS = f"{DASHBOARD}/runs"
ASSETS = f"{DASHBOARD}/assets"

# Own pages alone: no other host, no path that climbs, nothing that a browser reads as an address of elsewhere.
_OWN_PAGE = re.compile(re.escape(DASHBOARD) + r"(/[A-Za-z0-9._:~%-]+)*(\?[A-Za-z0-9._:~%=&+-]*)?")
MAX_ADDRESS_CHARS = 2_000
# Forms on the page of a run.
_ON_A_RUN = frozenset({"cancel", "pause", "resume", "answer"})


def is_page(path: str) -> bool:
    """Return True for paths of the dashboard, whether or not there is a page."""
    return path == DASHBOARD or path.startswith(f"{DASHBOARD}/")


def run_address(run_id: str, part: str = "", **query: object) -> str:
    """Return the address of a run's page, or of a part of it."""
    return with_query(f"{RUNS}/{quote(run_id, safe='')}" + (f"/{part}" if part else ""), **query)


def with_query(path: str, **query: object) -> str:
    """Return a path with those fields of the query that have a value."""
    given = {name: value for name, value in query.items() if value not in (None, "")}
    return f"{path}?{urlencode(given)}" if given else path


def login_address(back_to: str, *, has_sent: bool = False) -> str:
    """Return the address of the login page that leads back to a page; `has_sent`: a form of it was not carried out."""
    return with_query(LOGIN, to=own_page(back_to) if back_to != DASHBOARD else None, unsent="yes" if has_sent else None)


def page_of_form(action: str) -> str:
    """Return the address of the page whose form is sent to `action`."""
    page, _, what = action.rpartition("/")
    return page if page.startswith(f"{RUNS}/") and what in _ON_A_RUN else DASHBOARD


def own_page(address: str) -> str:
    """Return an address if it is one of the dashboard's pages, else that of its first page."""
    is_own = len(address) <= MAX_ADDRESS_CHARS and _OWN_PAGE.fullmatch(address) is not None
    return address if is_own and "/." not in unquote(unquote(address)) else DASHBOARD
