"""Renders what is around the content of every page, and names the header fields of all of them."""

from __future__ import annotations

from typing import NamedTuple

from fastapi.responses import HTMLResponse

from runtime.primitives.hashing import content_hash
from serve.http.dashboard.addresses import DASHBOARD, LOGIN, LOGOUT, SYSTEM
from serve.http.dashboard.assets import asset_address
from serve.http.dashboard.page_admission import FORM_TOKEN
from serve.run_fragments import line_of, told

# Nothing is loaded from elsewhere, nothing inline is run, no other page frames these, and forms stay here.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self';"
    " frame-ancestors 'none'; base-uri 'none'"
)
# `same-origin`: a browser that is told no-referrer sends forms with the origin null, which the gate refuses.
SAFETY_FIELDS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}

_PAGES = ((DASHBOARD, "Runs"), (SYSTEM, "System"))


class Frame(NamedTuple):
    """Describes who looks at a page. `user_id` None: nobody is known yet; `form_token`: of every form on it."""

    user_id: str | None = None
    scopes: tuple[str, ...] = ()
    is_logged_in: bool = False
    form_token: str = ""

    @property
    def viewer(self) -> str:
        """The digest of the viewer and their scopes; a page is for one of them alone."""
        return content_hash(f"{self.user_id} {self.scopes} {self.is_logged_in}".encode())[:16]

    def may(self, *scopes: str) -> bool:
        """Return True if the viewer has one of these scopes."""
        return bool(set(scopes) & set(self.scopes))


def page(title: str, content: str, frame: Frame, *, at: str = "", live: str = "", is_refusal: bool = False) -> str:
    """Return a whole page. `title` is plain text; `at`: the address of its entry in the navigation.

    `live`: the address of the stream that replaces parts of the content by their ids; `is_refusal`: what was sent was
    not carried out.
    """
    # The attribute is read by the script alone; without a script the page is what it was when it was loaded.
    streamed = f' data-live="{line_of(live)}" data-viewer="{frame.viewer}"' if live else ""
    streamed += " data-refused" if is_refusal else ""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{line_of(title)} · Jeeves</title>"
        f'<link rel="icon" href="{asset_address("icon.svg")}">'
        f'<link rel="stylesheet" href="{asset_address("dashboard.css")}">'
        f'<script src="{asset_address("dashboard.js")}" defer></script></head>'
        f'<body{streamed}><a class="skip" href="#content">Skip to the content</a>'
        f'<header class="top"><a class="brand" href="{DASHBOARD}">Jeeves</a>{_navigation(frame, at)}{_who(frame)}'
        f'</header><main id="content" tabindex="-1">{_without_script(live)}{content}</main>'
        '<footer class="foot"><p id="connection" role="status" aria-live="polite"></p>'
        f"{_clock(frame)}</footer></body></html>\n"
    )


def form_token_field(frame: Frame) -> str:
    """Return the hidden field that every form carries."""
    return f'<input type="hidden" name="{FORM_TOKEN}" value="{frame.form_token}">'


def page_response(text: str, status: int = 200) -> HTMLResponse:
    """Return a page as a response that nobody keeps."""
    return HTMLResponse(text, status_code=status, headers={"cache-control": "no-store"})


def _without_script(live: str) -> str:
    said = "This page shows what was so when it was loaded."
    again = '<a href="">Load it again</a>'
    return f'<noscript><p class="notice">{said} {again}</p></noscript>' if live else ""


def _clock(frame: Frame) -> str:
    return "<p>All times are UTC.</p>" if frame.user_id is not None else ""


def _navigation(frame: Frame, at: str) -> str:
    if frame.user_id is None:
        return ""
    links = "".join(
        f'<li><a href="{address}"{_current(address == at)}>{name}</a></li>'
        for address, name in _PAGES
        if address == DASHBOARD or frame.may("watch", "operate")
    )
    return f'<nav aria-label="Pages"><ul>{links}</ul></nav>'


def _current(is_current: bool) -> str:
    return ' aria-current="page"' if is_current else ""


def _who(frame: Frame) -> str:
    if frame.user_id is None:
        return ""
    kind, _, name = frame.user_id.partition(":")
    shown = told(name) if frame.is_logged_in else f"without a token ({told(frame.user_id)})"
    scopes = f' <span class="dim">{line_of(", ".join(frame.scopes))}</span>'
    if not frame.is_logged_in:
        login = f'<a class="button quiet" href="{LOGIN}">Log in</a>' if kind == "address" else ""
        return f'<div class="who"><span>{shown}{scopes}</span>{login}</div>'
    logout = (
        f'<form method="post" action="{LOGOUT}">{form_token_field(frame)}<button class="quiet">Log out</button></form>'
    )
    return f'<div class="who"><span>{shown}{scopes}</span>{logout}</div>'
