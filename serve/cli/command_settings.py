"""Loads the settings of a command, and sets up its logs accordingly."""

from __future__ import annotations

import os
from pathlib import Path

from runtime.primitives.structured_logs import LogOptions, configure_logs
from runtime.settings import Settings, load_settings

LOG_FILE = Path("logs", "cli.log")


def load_command_settings(config: Path | None) -> Settings:
    """Load settings and log to logs/cli.log in the state folder, or with JEEVES_DEBUG to standard error."""
    settings = load_settings(config)
    configure_logs(LogOptions(settings.logging.level, settings.logging.format), "cli", log_file(settings))
    return settings


def log_file(settings: Settings) -> Path | None:
    """Return the file that commands log to; None: standard error."""
    return None if os.environ.get("JEEVES_DEBUG") else settings.state_dir / LOG_FILE
