"""Names how runs may be carried out, apart from the models of pipelines, which take long to import."""

from __future__ import annotations

from typing import Literal

RunMode = Literal["sequential", "parallel"]
Priority = Literal["realtime", "high", "normal", "low", "idle"]
