"""Runs `jeeves fix` as a Ray job.

    ray job submit … -- python -P -m serve.jobs.fix --repo FOLDER

The arguments are those of `jeeves fix`. A job that was stopped goes on when it is submitted again from the same folder
with the same arguments, or with the same `--id`; one with the same id that is under way is refused.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from serve.cli.main import main
from serve.jobs.job_environment import join_cluster_of_job
from serve.ray_jobs import job_name

if __name__ == "__main__":
    named = job_name("fix", Path.cwd(), sys.argv[1:])
    main(["fix", "--id", named, *sys.argv[1:]], prepare=lambda: join_cluster_of_job(os.environ))
