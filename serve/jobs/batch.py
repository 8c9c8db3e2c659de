"""Runs `jeeves batch` as a Ray job.

    ray job submit … -- python -P -m serve.jobs.batch IN.jsonl --out OUT.jsonl

The arguments are those of `jeeves batch`. A job that was stopped goes on when it is submitted again; several with the
same arguments share the lines among themselves.
"""

from __future__ import annotations

import os
import sys

from serve.cli.main import main
from serve.jobs.job_environment import join_cluster_of_job

if __name__ == "__main__":
    main(["batch", *sys.argv[1:], "--resume"], prepare=lambda: join_cluster_of_job(os.environ))
