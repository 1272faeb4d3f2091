"""The dispatcher's loop: sleep until something is due or announced, then fire until nothing is.

The loop itself decides nothing: it reads the database's clock and calls chores. A database that goes away is a state
it waits out; so is a hold, in which it only beats until a NOTIFY says that it is over. Stopping (`drain`) finishes the
batch in hand: what was claimed is submitted, nothing new is claimed.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable
from datetime import datetime
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError, InterfaceError, close_old_connections, connection

from access.idempotency import keys_forget
from dispatcher import firing
from dispatcher.listen import Listener
from dispatcher.records import new_holder
from dispatcher.recover import recover
from dispatcher.retention import firings_forget
from dispatcher.selectors import Peek, peek
from dispatcher.submit import put_down
from flowsched import clock
from flowsched.errors import FlowschedError
from schedules.rows import CHANNEL
from tasks.processes import process_beat, process_register, process_stop
from tasks.services import lanes_sweep, tasks_expire

logger = logging.getLogger(__name__)

LEAST_PAUSE: Final = 0.1  # seconds between scans when the last one claimed nothing or failed: at most 10 a second
HELD_PAUSE: Final = 0.5  # seconds between attempts at a locked rack
BEAT_EVERY: Final = 5.0  # seconds between heartbeats
SWEEP_EVERY: Final = 300.0  # seconds between sweeps of all lanes with waiting tasks
LONGEST_BACKOFF: Final = 5.0  # seconds between attempts to reach a database that is away


class Loop:
    """One dispatcher. `run_once` is the whole work of one wake-up, and what tests call."""

    def __init__(self, *, batch_size: int, poll_interval: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.batch_size = batch_size
        self.poll_interval = poll_interval
        self.holder = new_holder(settings.FLOWSCHED_FIRING_LEASE)
        self.held: list[int] = []
        self.draining = False
        self.on_hold = False
        self.scans = 0
        self._clock = clock
        self._process: UUID | None = None
        self._beaten_at = 0.0
        self._swept_at = self._scanned_at = 0.0
        self._forgetting = False

    def drain(self) -> None:
        """Claim nothing more; return when the batch in hand is done."""
        self.draining = True

    def run_once(self, now: datetime | None = None) -> int:
        """Recover, expire, and fire until nothing is due; nothing of it while a hold is on.

        Returns how many schedules were claimed.
        `now` fixes the moment for tests; otherwise each scan reads the database's clock.
        """
        total = 0
        while not self.draining:
            seen = peek()
            moment = now or seen.now
            self.scans += 1
            self._scanned_at = self._clock()
            self._note_hold(on_hold=seen.on_hold)
            if seen.on_hold:
                return total
            self._chores(seen, moment)
            if not seen.due(moment):
                return total
            fired = firing.fire_due(moment, self.batch_size, holder=self.holder)
            total += fired.claimed
            self.held += fired.held
            if fired.claimed < self.batch_size:
                return total
            self._beat(seen.now)
        return total

    def _note_hold(self, *, on_hold: bool) -> None:
        """Say so once; and put down what a locked rack kept open, so that whoever is first at the release goes on."""
        if on_hold != self.on_hold:
            logger.info("%s", "held: nothing is claimed until the release" if on_hold else "released: going on")
        self.on_hold = on_hold
        if on_hold and self.held:
            put_down(self.held, self.holder)
            self.held = []

    def _chores(self, seen: Peek, now: datetime) -> None:
        if self.held:
            self.held = firing.resume_held(self.held, holder=self.holder, now=now)
        if seen.orphaned(now):
            self.held += recover(now, self.batch_size, holder=self.holder)[1]
        if seen.expired(now):
            tasks_expire(now=now)

    def run_forever(self) -> None:
        """Run until drained. Never raises for a database that is away."""
        listener = Listener(CHANNEL)
        failures = 0
        try:
            while not self.draining:
                try:
                    listener.connect()
                    if failures:
                        self.held = firing.in_hand(holder=self.holder)
                    claimed = self.run_once()
                    pause = self._pause(claimed)
                    if failures:
                        logger.info("the database is back")
                    failures = 0
                except (DatabaseError, InterfaceError, FlowschedError) as error:
                    failures += 1
                    pause = self._after_failure(error, failures)
                if listener.wait(pause, lambda: self.draining):
                    self._space_scans()
        finally:
            listener.close()
            self._stop()

    def _space_scans(self) -> None:
        """A storm of notifications makes at most one scan per LEAST_PAUSE; the first one is answered at once."""
        since = self._clock() - self._scanned_at
        if since < LEAST_PAUSE and not self.draining:
            time.sleep(LEAST_PAUSE - since)

    def _pause(self, claimed: int) -> float:
        """Seconds to sleep: to the nearest moment known, at most one poll, with jitter; never a spin."""
        seen = peek()
        self._slow_chores(seen.now)
        known = () if seen.on_hold else (seen.next_due, seen.next_lease_end, seen.next_expiry)
        moments = [moment for moment in known if moment is not None]
        left = min([(moment - seen.now).total_seconds() for moment in moments], default=self.poll_interval)
        if self.held:
            left = min(left, HELD_PAUSE)
        least = 0.0 if claimed and left > 0 else LEAST_PAUSE
        return max(least, min(left, self.poll_interval, BEAT_EVERY)) + random.uniform(0, 0.02)  # noqa: S311  jitter

    def _slow_chores(self, now: datetime) -> None:
        """What has a slower beat: the heartbeat; a sweep for waiting tasks nobody promoted; old history and keys."""
        self._beat(now)
        if self._clock() - self._swept_at > SWEEP_EVERY:
            self._swept_at = self._clock()
            lanes_sweep(now=now)
            keys_forget(now=now)
            self._forgetting = True
        if self._forgetting:
            # A batch a wake-up until none is left: as fast as they come, and no tick waits longer than for one.
            self._forgetting = firings_forget(now=now) > 0

    def _beat(self, now: datetime) -> None:
        if self._process is None:
            self._process = process_register(kind="dispatcher", now=now)
        elif self._clock() - self._beaten_at < BEAT_EVERY:
            return
        elif not process_beat(process_id=self._process, now=now, detail={"held": len(self.held)}):
            self._process = process_register(kind="dispatcher", now=now)
        self._beaten_at = self._clock()

    def _after_failure(self, error: Exception, failures: int) -> float:
        if failures == 1:
            logger.error("cannot go on for now, trying again: %s", str(error).splitlines()[0] if str(error) else error)
        connection.close_if_unusable_or_obsolete()
        close_old_connections()
        return min(LONGEST_BACKOFF, LEAST_PAUSE * 2.0 ** min(failures, 6)) * random.uniform(0.8, 1.2)  # noqa: S311  jitter

    def _stop(self) -> None:
        """Hand on what a locked rack kept open, and sign off."""
        try:
            if self.held:
                firing.release(self.held, holder=self.holder)
            if self._process is not None:
                process_stop(process_id=self._process, now=clock.now())
        except (DatabaseError, InterfaceError, FlowschedError):
            logger.warning("the database was away while stopping; leases will run out by themselves")
