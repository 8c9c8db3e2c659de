"""Names the vector stores, for options that must not load them."""

from __future__ import annotations

from typing import Literal

VectorStoreKind = Literal["sqlite", "chroma"]
