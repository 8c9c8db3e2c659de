"""What a browser does at the dashboard, without one: it logs in, reads pages, and sends their forms."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import urlencode

from serve.http.dashboard.addresses import ASK, DASHBOARD, LOGIN
from tests.doors.http_site import Reply, Site

FORM = "application/x-www-form-urlencoded"
_FORM_TOKEN = re.compile(r'name="form_token" value="([0-9a-f]+)"')


class Visitor:
    """Reads pages and sends forms, with the cookie that it was given."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.cookie = ""

    @property
    def origin(self) -> str:
        return f"http://localhost:{self.site.port}"

    async def read(self, path: str = DASHBOARD, **headers: str) -> Reply:
        return await self.site.call("GET", path, Cookie=self.cookie, **headers)

    async def send(self, path: str, fields: dict[str, str], **headers: str) -> Reply:
        """Send a form as a browser does, unless `headers` say otherwise."""
        told = {"Origin": self.origin, "Sec_Fetch_Site": "same-origin", "Cookie": self.cookie} | headers
        return await self.site.call("POST", path, urlencode(fields).encode(), **{"Content_Type": FORM} | told)

    async def act(self, path: str, fields: dict[str, str] | None = None) -> Reply:
        """Send a form of the first page."""
        return await self.send(path, {"form_token": await self.form_token()} | (fields or {}))

    async def ask(self, question: str, **fields: str) -> str:
        """The id of the run of a question."""
        reply = await self.act(ASK, {"question": question, "wait": "yes", "key": question[:40], **fields})
        assert reply.status == 303, text_of(reply)
        return reply.headers["location"].rpartition("/")[2]

    async def form_token(self) -> str:
        found = _FORM_TOKEN.search((await self.read()).body.decode())
        assert found is not None
        return found[1]

    async def log_in(self, token: str, to: str = "") -> Reply:
        reply = await self.send(LOGIN, {"token": token, "to": to})
        if "set-cookie" in reply.headers:
            self.cookie = reply.headers["set-cookie"].partition(";")[0]
        return reply


def text_of(reply: Reply) -> str:
    """What a page says, without its markup."""
    return unescape(re.sub(r"<[^>]*>", " ", reply.body.decode()))
