"""Lists the kernel's parts of the store, in the order in which `jeeves gc` reports them.

Other parts are contributed by name ("module:NAME").
"""

from __future__ import annotations

from collections.abc import Iterable

from runtime.database.store_part import AnyPart, StorePart
from runtime.errors import SettingsError
from runtime.memory.cache import CACHE
from runtime.memory.run_metrics import RUN_METRICS
from runtime.memory.sessions import SESSIONS
from runtime.memory.tool_metrics import TOOL_METRICS
from runtime.memory.usage_log import USAGE
from runtime.primitives.declared import declared
from runtime.store.access_tokens import TOKENS
from runtime.store.run_log_part import RUN_LOGS
from runtime.store.sql_journal import JOURNAL
from runtime.store.sql_work_queue import WORK_QUEUES

PARTS: tuple[AnyPart, ...] = (RUN_LOGS, JOURNAL, SESSIONS, CACHE, TOOL_METRICS, WORK_QUEUES, USAGE, RUN_METRICS, TOKENS)


def all_parts(contributed: Iterable[str] = ()) -> tuple[AnyPart, ...]:
    """Return the kernel's parts and those that are named as "module:NAME".

    Raises SettingsError for a name without a part, and for two parts of the same name.
    """
    parts = (*PARTS, *(declared(spec, StorePart, "part of the store") for spec in contributed))
    names = [part.name for part in parts]
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise SettingsError(f"two parts of the store are named {', '.join(doubled)}; give each a name of its own")
    return parts
