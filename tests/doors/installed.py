"""Packages of other authors, as pip would have installed them: modules, metadata and entry points in one folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

CAPABILITY = """
from runtime.kernel import AgentHooks, Capability, StageResult

async def serve(context, view):
    return StageResult({"final_response": "{name} has served " + view.raw_input})

CAPABILITY = Capability(id="{name}", agents={{"clerk": AgentHooks(process=serve)}})
"""
PIPELINE = """
name: {name}
capability: {capability}
agents:
  - {{name: clerk, stage_order: 1}}
"""


def install(
    site: Path,
    name: str,
    *,
    capability: str | None = None,
    module: str | None = None,
    pipelines: Mapping[str, str] | None = None,
    files: Mapping[str, str] | None = None,
    package: str | None = None,
    spec: str | None = None,
) -> Path:
    """Install a package that declares the capability `name`; everything else is sound unless given."""
    package = package or name
    body = module if module is not None else CAPABILITY.replace("{name}", capability or name).replace("{{", "{")
    body = body.replace("}}", "}") if module is None else body
    write(site / package / "__init__.py", "")
    write(site / package / "capability.py", body)
    brought = {name: PIPELINE.format(name=name, capability=name)} if pipelines is None else pipelines
    for pipeline, text in brought.items():
        write(site / package / "configs" / "pipelines" / f"{pipeline}.yaml", text)
    for path, text in (files or {}).items():
        write(site / package / path, text)
    metadata = site / f"{package}-1.dist-info"
    write(metadata / "METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: 1\n")
    entry = f"[jeeves.capabilities]\n{name} = {spec or f'{package}.capability:CAPABILITY'}\n"
    write(metadata / "entry_points.txt", entry)
    return site


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
