"""The worker process: takes jobs, carries their runs, keeps their leases, does the chores.

Told to stop, it fetches nothing more and lets runs end within the drain time; then each stops before its next side
effect and is released to another worker. Killed instead, its runs are rescued when their leases run out.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
from collections.abc import Callable
from types import FrameType
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction

from flowsched import clock, db
from flowsched.errors import Busy, Unavailable
from tasks import chores, engine
from tasks.control import Control
from tasks.engine import enqueue_missing
from tasks.execution import Execution, Seat
from tasks.executors.base import CALLS, Executor, get_executor
from tasks.heart import CANCEL_CHANNEL, Heart, every, listen, renewal_seconds
from tasks.http.endpoints import endpoints
from tasks.http.places import CallSeat, Places
from tasks.operations import OperationType
from tasks.ports import ports
from tasks.processes import BEAT, process_keep, process_stop
from tasks.runs import LeaseLost, endpoint_name, run_begin
from tasks.stopping import Stop

logger = logging.getLogger(__name__)

KIND = "worker"


class Worker:
    """One per process. Refuses to exist without an executor."""

    def __init__(self, *, concurrency: int, once: bool = False) -> None:
        self.concurrency = concurrency
        self.once = once
        self.stop = Stop()
        self.heart = Heart()
        self.executor = get_executor()
        self.caller = get_executor(CALLS)
        self.places = Places(lambda name: endpoints()[name].max_connections if name in endpoints() else 1)
        self.seats = threading.BoundedSemaphore(settings.FLOWSCHED_CALL_CONNECTIONS)
        self.failed = False
        self._over = threading.Event()  # for the threads below: they serve the runs until the last has ended
        self._process_id: UUID | None = None
        self._threads: list[threading.Thread] = []

    def run(self) -> int:
        """Work until stopped, or with `once` until nothing waits; returns the exit code."""
        self.stop.subscribe(request=self._draining, release=self.heart.release_all)
        self._install_signals()
        logger.info("worker %s: executor %s, %d runs at a time", owner(), self.executor.name, self.concurrency)
        if self.once:
            self._unless_away(chores.rescue)
        self._start_threads()
        try:
            calls = sum(endpoint.max_connections for endpoint in endpoints().values())
            places = {engine.TASKS: self.concurrency, engine.CALLS: max(1, calls)}
            engine.get_engine().work(self.handle, concurrency=places, once=self.once, stop=self.stop)
            self._unless_away(self._give_back)
        finally:
            self._end()
        logger.info("worker %s: stopped", owner())
        return 1 if self.failed else 0

    def handle(self, task_id: UUID, queue: str) -> None:
        """Carry out the run of one job; a job with nothing to do is no error."""
        if queue != engine.CALLS:
            self._carry_out(task_id, self.executor, Seat())
            return
        with self.seats:
            try:
                with db.translate():
                    endpoint = endpoint_name(task_id)
            except (Busy, Unavailable) as error:
                logger.warning("task %s: not begun, %s; it gets another job within a lease", task_id, error)
                return
        if not self.places.take(endpoint, task_id):
            return
        waiting: UUID | None = task_id
        while waiting is not None:
            try:
                with self.seats:
                    self._carry_out(waiting, self.caller, CallSeat(self.seats))
            finally:
                waiting = self.places.hand_on(endpoint)

    def _carry_out(self, task_id: UUID, executor: Executor, seat: Seat) -> None:
        try:
            with db.translate():
                handle = run_begin(task_id=task_id, owner=owner(), executor=executor.name, now=clock.now())
        except (Busy, Unavailable) as error:
            logger.warning("task %s: not begun, %s; it gets another job within a lease", task_id, error)
            return
        if handle is None:
            logger.debug("task %s: nothing to do", task_id)
            return
        control = Control()
        self.heart.add(handle.token, control)
        if self.stop.release.is_set():
            control.tell(release=True)
        logger.info("run %s of task %s: attempt %d begins", handle.run_id, task_id, handle.attempt)
        try:
            execution = Execution(handle, executor, control, seat)
            ended = execution.run()
            logger.info("run %s of task %s: %s", handle.run_id, task_id, ended)
            if executor is self.caller and execution.ended and handle.task.schedule_id:
                state, message = execution.ended
                schedule_id = handle.task.schedule_id
                self._unless_away(lambda: ports.call_ended(schedule_id, state, message, handle.now()))
        except LeaseLost:
            logger.warning("run %s of task %s: lease lost, stopped", handle.run_id, task_id)
        except Exception:
            logger.exception("run %s of task %s: failed unexpectedly, its lease runs out", handle.run_id, task_id)
        finally:
            self.heart.remove(handle.token)

    def _start_threads(self) -> None:
        over = self._over
        self._thread("heart", lambda: every(renewal_seconds(), self.heart.beat, stop=over, wake=self.heart.wake))
        self._thread("beat", lambda: every(BEAT.total_seconds(), self.beat, stop=over))
        self._thread("listen", lambda: listen(CANCEL_CHANNEL, self.heart.wake.set, stop=over))
        for name, seconds, chore in () if self.once else chores.schedule():
            self._thread(name, _chore_thread(seconds, chore, over))

    def _thread(self, name: str, target: Callable[[], None]) -> None:
        def guarded() -> None:
            try:
                target()
            except Exception:
                logger.exception("worker %s: thread %s died, stopping", owner(), name)
                self.failed = True
                self.stop.request()

        thread = threading.Thread(target=guarded, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def beat(self) -> None:
        """Keep this process's row alive."""
        now = clock.now()
        state = "draining" if self.stop.requested.is_set() else "running"
        detail = {"executor": self.executor.name, "concurrency": self.concurrency, "runs": self.heart.count()}
        self._process_id = process_keep(self._process_id, kind=KIND, now=now, state=state, detail=detail)

    def _give_back(self) -> None:
        """Calls that waited here for a place are some other worker's now."""
        waiting = self.places.left()
        with transaction.atomic():
            enqueue_missing((task_id, OperationType.HTTP) for task_id in waiting)

    def _draining(self) -> None:
        self.places.close()
        drain = settings.FLOWSCHED_DRAIN_TIMEOUT.total_seconds()
        logger.info("worker %s: draining %d runs for at most %g s", owner(), self.heart.count(), drain)
        timer = threading.Timer(drain, self.stop.let_go)
        timer.daemon = True
        timer.start()

    def _end(self) -> None:
        self._over.set()
        self.heart.wake.set()
        for thread in self._threads:
            thread.join(timeout=5)
        if self._process_id is not None:
            self._unless_away(lambda: process_stop(process_id=self._process_id, now=clock.now()))  # type: ignore[arg-type]
        connection.close()

    @staticmethod
    def _unless_away(chore: Callable[[], object]) -> None:
        try:
            with db.translate():
                chore()
        except (Busy, Unavailable) as error:
            logger.warning("worker %s: %s", owner(), error)

    def _install_signals(self) -> None:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        """The first drains, the second stops at once: what is in hand is rescued when its lease runs out."""
        if self.stop.requested.is_set():
            os.write(2, b"worker: second signal, stopping at once\n")
            os._exit(128 + number)
        # Taken by a thread: a signal may arrive while this one holds a lock that `request` needs.
        threading.Thread(target=self.stop.request, daemon=True).start()


def owner() -> str:
    """Who holds a lease, for people; the token is what is compared."""
    return f"{socket.gethostname()}:{os.getpid()}"


def _chore_thread(seconds: float, chore: Callable[[], object], over: threading.Event) -> Callable[[], None]:
    return lambda: every(seconds, chore, stop=over)
