"""Draws the packages of docs/architecture.md from the import contracts in pyproject.toml.

    python -m tests.architecture_picture [--write]

prints the Mermaid flowchart, or writes it between the markers of the document.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
DOCUMENT = ROOT / "docs" / "architecture.md"
BEGIN = "<!-- drawn by `make picture` from the import contracts -->"
END = "<!-- end of the picture -->"


class Layers(NamedTuple):
    """One contract of layers, highest first; each layer lists the packages that stand beside each other.

    `container`: the package that they are in; empty for the top-level ones.
    """

    container: str
    rows: tuple[tuple[str, ...], ...]

    def names(self) -> Iterator[str]:
        """The packages and modules of all layers, as dotted names."""
        for row in self.rows:
            yield from (f"{self.container}.{name}" if self.container else name for name in row)


def contracts() -> list[Layers]:
    """Read the contracts of layers, in their order."""
    document = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    found = []
    for contract in document["tool"]["importlinter"]["contracts"]:
        if contract["type"] == "layers":
            rows = tuple(tuple(name.strip() for name in layer.split(":")) for layer in contract["layers"])
            found += [Layers(container, rows) for container in contract.get("containers", [""])]
    return found


def picture(layers: list[Layers]) -> str:
    """Draw each contract as a box of rows; an arrow says that a row may use all that is below it."""
    top = next(each for each in layers if not each.container)
    inside = {each.container: each for each in layers if each.container}
    lines = ["flowchart TB"]
    for name in top.names():
        lines += _box(name, name, inside, "    ")
    lines += [f"    {above[0]} ==> {below[0]}" for above, below in zip(top.rows, top.rows[1:], strict=False)]
    for container in inside:
        if container not in set(top.names()):
            lines += _box(container, container.replace(".", "/"), inside, "    ")
    return "\n".join(lines)


def _box(name: str, title: str, inside: dict[str, Layers], indent: str) -> list[str]:
    node = _node(name)
    if name not in inside:
        return [f'{indent}{node}["{title}"]']
    lines = [f'{indent}subgraph {node}["{title}"]']
    rows = inside[name].rows
    for number, row in enumerate(rows):
        lines.append(f'{indent}    subgraph {node}_{number}[" "]')
        lines.append(f"{indent}        direction LR")
        lines += [f'{indent}        {_node(f"{name}.{each}")}["{each}"]' for each in row]
        lines.append(f"{indent}    end")
    lines += [f"{indent}    {node}_{number} --> {node}_{number + 1}" for number in range(len(rows) - 1)]
    return [*lines, f"{indent}end"]


def _node(name: str) -> str:
    return name.replace(".", "_")


def block() -> str:
    """The picture as it stands in the document, markers included."""
    return f"{BEGIN}\n```mermaid\n{picture(contracts())}\n```\n{END}"


def drawn() -> str:
    """What stands between the markers of the document, markers included."""
    text = DOCUMENT.read_text(encoding="utf-8")
    return text[text.index(BEGIN) : text.index(END) + len(END)]


def main() -> None:
    """Print or write the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="put it into docs/architecture.md")
    if parser.parse_args().write:
        text = DOCUMENT.read_text(encoding="utf-8")
        DOCUMENT.write_text(text.replace(drawn(), block()), encoding="utf-8")
    else:
        sys.stdout.write(block() + "\n")


if __name__ == "__main__":
    main()
