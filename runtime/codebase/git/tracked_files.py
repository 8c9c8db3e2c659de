"""Lists the files that git tracks below a folder, whatever its ignore files say."""

from __future__ import annotations

from runtime.codebase.git.git_process import MAX_OUTPUT_BYTES, Git
from runtime.errors import RepositoryError


def tracked_files(git: Git) -> list[bytes]:
    """Return the paths in the index, relative to the folder that is asked about, as git has them.

    RepositoryError where git fails, or names more of them than are read.
    """
    told = git.run_bytes("ls-files", "-z")
    if len(told) >= MAX_OUTPUT_BYTES:
        raise RepositoryError(f"git tracks more files than {MAX_OUTPUT_BYTES} bytes can name", limit=MAX_OUTPUT_BYTES)
    return sorted({path for path in told.split(b"\0") if path})
