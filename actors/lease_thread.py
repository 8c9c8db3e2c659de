"""Renews the lease of a run log from a thread, for programs whose event loop also runs stages.

A stage that keeps the event loop busy must not cost its process the log: another system would adopt the run.
"""

from __future__ import annotations

import logging
import threading

from actors.log_owner import LogOwner
from runtime.errors import FencedError, StateStorageError

RENEWED_EVERY_S = 1.0

log = logging.getLogger(__name__)


class LeaseThread:
    """Renews the lease of `owner` until it is closed, which releases the log; or until another owner took it over.

    A reason why it cannot be renewed is logged once, not each second.
    """

    def __init__(self, owner: LogOwner, every_s: float = RENEWED_EVERY_S) -> None:
        self._owner = owner
        self._every_s = every_s
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lease", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop renewing, release the log and close it. A second call does nothing."""
        if self._closed.is_set():
            return
        self._closed.set()
        self._thread.join()
        try:
            self._owner.release()
        except StateStorageError as error:
            log.info("run_log.not_released", extra={"reason": error.message})  # its lease ends by itself
        self._owner.log.close()

    def _run(self) -> None:
        told = ""
        while not self._closed.wait(self._every_s):
            try:
                self._owner.renew()
                told = ""
            except FencedError as error:
                log.error("run_log.taken_over", extra={"reason": error.message})
                return
            except StateStorageError as error:
                if error.message != told:
                    log.warning("run_log.lease_not_renewed", extra={"reason": error.message})
                told = error.message
