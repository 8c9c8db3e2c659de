"""A headless Chromium, driven by its own protocol: pages as a person has them, their console, and pictures of them."""

from __future__ import annotations

import asyncio
import base64
import itertools
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

from tests.documentation.site import BROWSER

_LISTENS = re.compile(rb"DevTools listening on (ws://\S+)")
PHONE, TABLET, DESKTOP = (390, 844), (768, 1024), (1280, 900)


class Tab:
    """One page. `console`: what it has complained of; each line is a fault of the page or of the server.

    `browser`: the address by which the browser opens further tabs.
    """

    def __init__(self, socket: aiohttp.ClientWebSocketResponse, browser: str) -> None:
        self.console: list[str] = []
        self.browser = browser
        self._socket = socket
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._loaded = asyncio.Event()
        self.session_id = ""
        self._reading = asyncio.ensure_future(self._read())

    async def _read(self) -> None:
        async for message in self._socket:
            said = message.json()
            if "id" in said:
                self._answers.pop(said["id"]).set_result(said)
            elif said["method"] == "Page.loadEventFired":
                self._loaded.set()
            elif said["method"] == "Log.entryAdded" and said["params"]["entry"]["level"] == "error":
                entry = said["params"]["entry"]
                self.console.append(f"{entry['text']} {entry.get('url', '')}")
            elif said["method"] == "Runtime.exceptionThrown":
                self.console.append(str(said["params"]["exceptionDetails"]))
            elif said["method"] == "Runtime.consoleAPICalled" and said["params"]["type"] == "error":
                self.console.append(str(said["params"]["args"]))

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        """What the browser answers to a method of its protocol."""
        said = await self._asked(method, **params)
        assert "error" not in said, said
        result: dict[str, Any] = said["result"]
        return result

    async def _asked(self, method: str, **params: Any) -> dict[str, Any]:
        number = next(self._numbers)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        told = {"id": number, "method": method, "params": params}
        await self._socket.send_json(told | ({"sessionId": self.session_id} if self.session_id else {}))
        return await asyncio.wait_for(answer, 60)

    async def open(self, address: str) -> None:
        """Open a page, and return once it is loaded."""
        self._loaded.clear()
        await self.call("Page.navigate", url=address)
        await asyncio.wait_for(self._loaded.wait(), 60)

    async def after_load(self, script: str) -> None:
        """Do what leads to another page, and return once that is loaded."""
        self._loaded.clear()
        await self.value(script)
        await asyncio.wait_for(self._loaded.wait(), 60)

    async def value(self, script: str) -> Any:
        """What an expression is in the page; a promise is awaited."""
        told = await self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    async def until(self, script: str, timeout_s: float = 30) -> None:
        """Wait until an expression is true in the page, also in one that it leads to meanwhile."""
        safe = f"(() => {{ try {{ return Boolean({script}); }} catch {{ return false; }} }})()"
        deadline_s = asyncio.get_running_loop().time() + timeout_s
        while asyncio.get_running_loop().time() < deadline_s:
            told = await self._asked("Runtime.evaluate", expression=safe, returnByValue=True)
            # An error says that the page was left just now.
            if told.get("result", {}).get("result", {}).get("value"):
                return
            await asyncio.sleep(0.01)
        raise AssertionError(f"not so: {script}; the page says {await self.value('document.body.innerText')}")

    async def worked_s(self) -> float:
        """The seconds that the processor has worked on the page, whatever else runs on this machine."""
        await self.call("Performance.enable", timeDomain="threadTicks")
        found = (await self.call("Performance.getMetrics"))["metrics"]
        return float(next(each["value"] for each in found if each["name"] == "TaskDuration"))

    async def press(self, key: str, code: int, text: str = "") -> None:
        """Press a key."""
        for kind in ("keyDown", "keyUp"):
            await self.call(
                "Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, text=text
            )

    async def look(self, size: tuple[int, int] = DESKTOP, dark: bool = False, still: bool = False) -> None:
        """Look at pages on a screen of that size."""
        width, height = size
        await self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        features += [{"name": "prefers-reduced-motion", "value": "reduce"}] if still else []
        await self.call("Emulation.setEmulatedMedia", features=features)

    async def picture(self, path: Path) -> None:
        """Keep a picture of the whole page."""
        told = await self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        await asyncio.to_thread(path.write_bytes, base64.b64decode(told["data"]))


@asynccontextmanager
async def open_tab(address: str) -> AsyncIterator[Tab]:
    """A tab of the browser at an address; tabs of one browser share its cookies."""
    async with aiohttp.ClientSession() as http, http.ws_connect(address, max_msg_size=0) as socket:
        tab = Tab(socket, address)
        target = (await tab.call("Target.createTarget", url="about:blank", newWindow=True))["targetId"]
        attached = await tab.call("Target.attachToTarget", targetId=target, flatten=True)
        tab.session_id = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            await tab.call(f"{domain}.enable")
        await tab.look()
        yield tab


@asynccontextmanager
async def open_browser(profile: Path) -> AsyncIterator[Tab]:
    """A tab of a browser of our own that reaches this machine alone."""
    process = await asyncio.create_subprocess_exec(
        str(BROWSER),
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        "--no-first-run",
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
        f"--user-data-dir={profile}",
        "--remote-debugging-port=0",
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    found = None
    while found is None:
        line = await process.stderr.readline()
        assert line, "the browser does not start"
        found = _LISTENS.search(line)
    # Else it would wait some day until somebody reads what it says.
    draining = asyncio.ensure_future(process.stderr.read())
    try:
        async with open_tab(found[1].decode()) as tab:
            yield tab
    finally:
        process.terminate()
        await process.wait()
        draining.cancel()
