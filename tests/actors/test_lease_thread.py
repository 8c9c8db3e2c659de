"""The thread that renews a lease: what keeps it from doing so is logged once."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest

from actors.lease_thread import LeaseThread
from actors.log_owner import LogOwner
from runtime.primitives.clock import SystemClock
from runtime.primitives.ids import Address
from runtime.store.options import StoreOptions


class CountedOwner(LogOwner):
    """An owner of a log that tells when its lease was to be renewed five times."""

    tries = 0
    tried_often: threading.Event

    def renew(self) -> None:
        self.tries += 1
        if self.tries == 5:
            self.tried_often.set()
        super().renew()


def test_a_state_folder_that_is_deleted_is_logged_once_and_not_each_second(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    owner = CountedOwner(Address("supervisor"), "s-1", StoreOptions(str(tmp_path / "state")), ["local"], SystemClock())
    owner.tried_often = threading.Event()
    shutil.rmtree(tmp_path / "state")
    lease = LeaseThread(owner, every_s=0.001)
    assert owner.tried_often.wait(60)
    lease.close()
    renewals = [record for record in caplog.records if record.message == "run_log.lease_not_renewed"]
    assert len(renewals) == 1
    assert "was deleted or moved" in renewals[0].__dict__["reason"]
