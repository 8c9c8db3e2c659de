"""Generates the messages and stubs from jeeves.proto, with the protoc that grpcio-tools brings.

    python -m serve.grpc.generate [FOLDER]

writes them beside the file that they come from, or below another folder. Which release of grpcio-tools makes them is
pinned in pyproject.toml: another one writes other bytes, and needs other versions of grpcio and protobuf to run.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROTO = "serve/grpc/v1/jeeves.proto"
GENERATED = ("jeeves_pb2.py", "jeeves_pb2.pyi", "jeeves_pb2_grpc.py")


def generate(folder: Path) -> None:
    """Write the generated files below a folder. Raises CalledProcessError."""
    outputs = [f"--{kind}={folder}" for kind in ("python_out", "pyi_out", "grpc_python_out")]
    subprocess.run([sys.executable, "-m", "grpc_tools.protoc", f"-I{ROOT}", *outputs, PROTO], check=True)


if __name__ == "__main__":
    generate(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT)
