"""The whole product killed outright and started again by `up`: nothing lost, nothing doubled by the effect log."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection

from flowsched.postgres import location, server
from flowsched.supervisor import Control, Places
from schedules.models import TaskSchedule
from tests.faults.harness import query, wait_for
from tests.faults.invariants import broken, effects_judged, runs
from tests.faults.load import ALLOWANCE
from tests.faults.oracles import Recurrence, cron, every, firings_of, history_gaps, ticks_judged
from tests.faults.pgbox import kill_server, pointed_at
from tests.faults.test_up import Installation

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a parent's death"),
]

QUICK = {
    "FLOWSCHED_FIRING_LEASE": "2",
    "FLOWSCHED_RUN_LEASE": "2",
    "FLOWSCHED_POLL_INTERVAL": "1",
    "FLOWSCHED_DRAIN_TIMEOUT": "5",
    "FLOWSCHED_SIMULATED_LATENCY": "0.01",
}
STEPS = {"10s": 10, "15s": 15, "20s": 20, "1s": 1, "2s": 2}


class Killable(Installation):
    """An installation whose processes are killed; racks of its own, some schedules every second."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.environment |= QUICK
        self.cluster = location.locate(folder)
        self.control = Control(Places(folder))
        self.running: subprocess.Popen[bytes] | None = None

    def up(self) -> subprocess.Popen[bytes]:
        self.running = super().up()
        return self.running

    def end(self) -> None:
        """Whatever is left, at once."""
        pids = [self.running.pid] if self.running and self.running.poll() is None else []
        for pid in [*pids, *session_of(self.control.pid() or -1)]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        kill_server(self.cluster)

    def effects(self):
        return [json.loads(line) for line in (self.folder / "effects.jsonl").read_text().splitlines()]

    def start(self):
        process = self.up()
        wait_for(lambda: "\nready" in self.log.read_text(), 120, "the line that says ready")
        return process

    def session(self) -> list[int]:
        """The supervisor and what it runs."""
        supervisor = self.control.pid()
        assert supervisor is not None
        return session_of(supervisor)

    def busy(self) -> None:
        """Wait until something is under way: a firing open or a task running."""
        sql = "SELECT 1 FROM firing WHERE closed_at IS NULL UNION ALL SELECT 1 FROM task WHERE status = 'running'"
        wait_for(lambda: query(sql), 60, "something is under way")


@pytest.fixture
def killable(django_db_blocker):
    # Not tmp_path: as root that is closed to the account that runs the server.
    folder = Path(tempfile.mkdtemp(prefix="flowsched up ", dir="/tmp"))
    folder.chmod(0o755)
    one = Killable(folder / "data folder")
    one.folder.mkdir()
    with django_db_blocker.unblock(), pointed_at(one.cluster, location.DATABASE):
        yield one
    one.end()
    shutil.rmtree(one.cluster.socket_dir, ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)


def session_of(pid: int) -> list[int]:
    """Every process of the session that `pid` leads."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError, ValueError, IndexError):
            if int((entry / "stat").read_text().rpartition(")")[2].split()[3]) == pid:
                found.append(int(entry.name))
    return found


def fired() -> int:
    [(count,)] = query("SELECT count(*) FROM firing WHERE closed_at IS NOT NULL")
    return int(count)


def goes_on(firings: int = 5) -> None:
    before = fired()
    wait_for(lambda: fired() >= before + firings, 90, f"{firings} more firings are done")


def test_up_its_session_and_its_database_are_killed_and_up_goes_on_each_time(killable):
    """X-1 to X-3, X-16: kill -9 of up, then of everything that the supervisor runs, then of the database too."""
    up = killable.start()
    for name, rack, interval in (("quick reset", "demo-0010", "1s"), ("quick again", "demo-0011", "2s")):
        killable.manage("schedule", "create", name, "--every", interval, "--operation", "power_reset", "--rack", rack)
    first = first_ticks()
    goes_on()

    killable.busy()
    up.kill()
    up.wait()
    up = killable.start()
    goes_on()

    killable.busy()
    everyone = killable.session()
    assert len(everyone) >= 3, "supervisor, dispatcher and worker"
    for pid in everyone:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    assert up.wait(60) == 1, "up says that its supervisor is gone"
    up = killable.start()
    goes_on()

    killable.busy()
    everyone = killable.session()
    kill_server(killable.cluster)
    for pid in [up.pid, *everyone]:
        with suppress(ProcessLookupError):  # the supervisor's children hear that their parent died
            os.kill(pid, signal.SIGKILL)
    connection.close()  # ours is cut as well
    up.wait()
    up = killable.start()
    goes_on()

    killable.manage("schedule", "pause", "quick reset")
    up.send_signal(signal.SIGINT)
    assert up.wait(60) == 0, killable.log.read_text()
    server.ensure(killable.cluster)
    judge(killable, first)


def first_ticks() -> dict[str, Recurrence]:
    """What the reference says of each schedule, from its creation on."""
    found = {}
    for row in TaskSchedule.objects.exclude(spec_type="one-time"):
        following = (
            cron(row.spec, row.timezone) if row.spec_type == "cron" else every(timedelta(seconds=STEPS[row.spec]))
        )
        found[row.name] = Recurrence(following(row.created_at), following, since=row.created_at)
    return found


def judge(killable: Killable, recurrences: dict[str, Recurrence]) -> None:
    """O1 to O3; what was open or running when it ended is not at rest, everything else is."""
    problems = {}
    [(now,)] = query("SELECT clock_timestamp()")
    for row in TaskSchedule.objects.exclude(spec_type="one-time"):
        firings = [one for one in firings_of(row.id) if one.state != "open"]
        until = row.disabled_at or now
        wrong = ticks_judged(recurrences[row.name], firings, until=until, allowance=ALLOWANCE)
        wrong += history_gaps(recurrences[row.name], firings, until=until - ALLOWANCE)
        if wrong:
            problems[row.name] = wrong
    assert problems == {}
    assert not TaskSchedule.objects.filter(disabled_kind="system").exists()
    assert broken() == {}
    assert effects_judged(killable.effects(), runs()) == []
