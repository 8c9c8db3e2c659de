"""Starts the system of the settings on standard input (JSON), on the cluster that they join.

The system stays there when this program ends. `serve.deployed.joined_service` runs it; what goes
wrong is told on standard error, with status 1.
"""

from __future__ import annotations

import asyncio
import sys

from runtime.errors import JeevesError
from runtime.settings import Settings
from serve.http.answering.service import KEEPER
from serve.pipeline_files import load_named_pipeline, warm_pipeline_names
from serve.runtimes.ray_runtime import start_runtime


def main() -> int:
    """Start the system and return once all of its actors answer; the exit status."""
    settings = Settings.model_validate_json(sys.stdin.read())
    pipelines = [load_named_pipeline(settings, name) for name in warm_pipeline_names(settings)]
    try:
        runtime = start_runtime(settings, pipelines, keeper=KEEPER)
        try:
            asyncio.run(runtime.system.ready())
        except JeevesError:
            asyncio.run(runtime.close())
            raise
    except JeevesError as error:
        sys.stderr.write(f"{error.message}\n")
        return 1
    if runtime.cluster is not None:
        runtime.cluster.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
