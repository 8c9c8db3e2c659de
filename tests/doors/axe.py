"""What axe-core finds on a page in the browser: whether everybody can read and use it."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tests.doors.browser import Tab

AXE = "axe-core@4.14.1"


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The accessibility checks of axe-core, from npm; never a part of the product."""
    folder = tmp_path_factory.mktemp("axe")
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("there is no npm to fetch axe-core")
    command = [npm, "pack", "--silent", AXE]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode:
        pytest.skip(f"npm does not give {AXE}: {done.stderr[-200:]}")
    subprocess.run(["tar", "-xzf", done.stdout.split()[-1], "package/axe.min.js"], cwd=folder, check=True)
    return (folder / "package" / "axe.min.js").read_text(encoding="utf-8")


async def violations(tab: Tab, axe: str) -> list[str]:
    """What axe-core finds on the page: each rule with the first element that breaks it."""
    # The policy of the page forbids foreign scripts; the protocol of the browser does not ask it.
    await tab.value(axe + "; undefined")
    found = await tab.value(
        "axe.run().then(told => told.violations.map(each => `${each.impact} ${each.id}: ${each.nodes[0].html}`))"
    )
    return [str(each) for each in found]
