"""What a person does at the dashboard in a browser: asks, logs in, and looks away."""

from __future__ import annotations

from runtime.primitives.ids import RunId
from runtime.run.envelope import Request
from serve.http.dashboard.addresses import DASHBOARD
from tests.doors.browser import Tab
from tests.doors.http_site import REPO_NAME, Site
from tests.doors.test_http_tokens import Door


def address(site: Site, path: str = DASHBOARD) -> str:
    return f"http://127.0.0.1:{site.port}{path}"


async def asked(site: Site, question: str) -> RunId:
    request = Request("sample", question, "address:loopback", metadata={"repo_name": REPO_NAME}, wait=True)
    return await site.submit(request)


async def accepted(door: Door, name: str) -> str:
    """A new token, once the service knows it."""
    token = door.token(name)
    await door.until_status(token, 200)
    return token


async def seen(tab: Tab, *, is_seen: bool) -> None:
    """Let a page believe that it can be seen, or not."""
    hidden = "false" if is_seen else "true"
    await tab.value(f"Object.defineProperty(document, 'hidden', {{value: {hidden}, configurable: true}}); 0")
    await tab.value("document.dispatchEvent(new Event('visibilitychange')); 0")


async def log_in(tab: Tab, token: str) -> None:
    await tab.value(f"document.getElementById('token').value = '{token}'")
    await tab.after_load("document.querySelector('main form button').click()")
