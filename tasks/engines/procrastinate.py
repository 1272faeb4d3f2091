"""procrastinate as the engine: a job is a row in the same database and commits with the task it runs.

Its per-job lock is not used (what may run beside what is decided at admission), nor its retry of stalled jobs (its
finish compares no owner; a run's lease does). What is lost with a job is only time: a task without one gets another
within a lease.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID

import procrastinate
import psycopg
from django.db import close_old_connections, connection, connections
from procrastinate import exceptions, jobs
from procrastinate.connector import Notify
from procrastinate.contrib.django import app
from procrastinate.contrib.django.utils import connector_params

from flowsched import db
from flowsched.errors import Unavailable
from tasks.engine import CALLS, TASKS
from tasks.stopping import Stop

logger = logging.getLogger(__name__)

TASK_NAME = "tasks.run"
POLL_SECONDS = 1.0  # the longest a job waits when its notification was lost
KEEP_JOBS = timedelta(hours=1)  # failed and orphaned jobs, for whoever looks into a failure
SPARE_THREADS = 2
TIDY_LIMIT = 5000  # rows a call, so that a backlog is no long transaction
RETRY_SECONDS = (0.2, 0.5, 1.0, 2.0)

T = TypeVar("T")

# procrastinate's own function for many jobs, called with rows made by the database: making them in Python costs as much
# as inserting them.
_ENQUEUE = """
SELECT procrastinate_defer_jobs_v1(array_agg(
           ROW(%s, %s, 0, NULL, id::text, jsonb_build_object('task_id', id), NULL)::procrastinate_job_to_defer_v1))
  FROM unnest(%s::uuid[]) AS id
"""
_MISSING = """
SELECT wanted.id FROM unnest(%s::uuid[]) AS wanted(id)
WHERE NOT EXISTS (SELECT 1 FROM procrastinate_jobs j WHERE j.queueing_lock = wanted.id::text AND j.status = 'todo')
"""
_TIDY = """
DELETE FROM procrastinate_jobs WHERE id IN (
    SELECT j.id FROM procrastinate_jobs j
    WHERE j.queue_name = ANY(%s) AND (j.status NOT IN ('todo', 'doing') OR (j.status = 'doing' AND j.worker_id IS NULL))
    AND NOT EXISTS (SELECT 1 FROM procrastinate_events e WHERE e.job_id = j.id AND e.at > %s)
    ORDER BY j.id LIMIT %s)
"""


@app.task(name=TASK_NAME, queue=TASKS, pass_context=True)
def run_job(context: procrastinate.JobContext, task_id: str) -> None:
    """Hand a job to the worker that is running in this process."""
    context.additional_context["handle"](UUID(task_id), context.job.queue)


class ProcrastinateEngine:
    """See `tasks.engine.Engine`."""

    def enqueue(self, task_ids: Sequence[UUID], *, queue: str = TASKS) -> None:
        """Add the jobs through Django's own connection, so that they commit or vanish with the caller's rows."""
        if not task_ids:
            return
        with db.bound_cursor() as cursor:
            cursor.execute(_ENQUEUE, [queue, TASK_NAME, list(task_ids)])

    def missing(self, task_ids: Sequence[UUID]) -> list[UUID]:
        """Those of `task_ids` that no job waits for, in one query."""
        if not task_ids:
            return []
        with connection.cursor() as cursor:
            cursor.execute(_MISSING, [list(task_ids)])
            return [row[0] for row in cursor.fetchall()]

    def tidy(self, *, now: datetime) -> int:
        """Delete jobs that ended an hour ago, and those whose worker is gone; their events go with them."""
        with connection.cursor() as cursor:
            cursor.execute(_TIDY, [[TASKS, CALLS], now - KEEP_JOBS, TIDY_LIMIT])
            return int(cursor.rowcount)

    def work(
        self, handle: Callable[[UUID, str], None], *, concurrency: Mapping[str, int], once: bool, stop: Stop
    ) -> None:
        """Run procrastinate's workers, one a queue, in this thread until told to stop; see `tasks.engine.Engine`."""
        asyncio.run(_work(handle, concurrency=concurrency, once=once, stop=stop))


class PatientConnector(procrastinate.PsycopgConnector):
    """A connector that outlives the database: what fails for want of it is tried again until the worker stops.

    Without it one lost connection ends procrastinate's worker, which then waits for its longest run before a new one
    may fetch.
    """

    def __init__(self, stop: Stop, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._stop = stop
        self._away = False

    async def execute_query_async(self, query: Any, **arguments: Any) -> None:
        """Run a query that returns nothing."""
        await self._patiently(lambda: super(PatientConnector, self).execute_query_async(query, **arguments))

    async def execute_query_one_async(self, query: Any, **arguments: Any) -> dict[str, Any]:
        """Run a query that returns a row."""
        return await self._patiently(lambda: super(PatientConnector, self).execute_query_one_async(query, **arguments))

    async def execute_query_all_async(self, query: Any, **arguments: Any) -> list[dict[str, Any]]:
        """Run a query that returns rows."""
        return await self._patiently(lambda: super(PatientConnector, self).execute_query_all_async(query, **arguments))

    async def listen_notify(self, on_notification: Notify, channels: Iterable[str]) -> None:
        """Listen for new jobs, again and again; polling covers what is missed between."""
        channels = list(channels)
        await self._patiently(lambda: super(PatientConnector, self).listen_notify(on_notification, channels))

    async def _patiently(self, call: Callable[[], Awaitable[T]]) -> T:
        failures = 0
        while True:
            try:
                value = await call()
            except (exceptions.ConnectorException, psycopg.OperationalError) as error:
                if self._stop.requested.is_set() or not _is_outage(error):
                    raise
                self._note(away=True)
                await asyncio.sleep(RETRY_SECONDS[min(failures, len(RETRY_SECONDS) - 1)])
                failures += 1
            else:
                self._note(away=False)
                return value

    def _note(self, *, away: bool) -> None:
        if away != self._away:
            self._away = away
            logger.warning("job queue: the database %s", "is out of reach, waiting for it" if away else "is back")


def _is_outage(error: BaseException | None) -> bool:
    """Whether `error` comes from a lost or refused connection rather than from the query."""
    while error is not None:
        if isinstance(error, psycopg.OperationalError):
            return True
        error = error.__cause__
    return False


async def _work(handle: Callable[[UUID, str], None], *, concurrency: Mapping[str, int], once: bool, stop: Stop) -> None:
    loop = asyncio.get_running_loop()
    total = sum(concurrency.values())
    # procrastinate runs sync tasks in the default executor, which has only cpu + 4 threads. The spare ones are for
    # name look-ups of new connections: with every thread in an hour's run, none could be made.
    threads = ThreadPoolExecutor(total + SPARE_THREADS, thread_name_prefix="run")
    loop.set_default_executor(threads)
    handled = threading.Event()

    def counted(task_id: UUID, queue: str) -> None:
        handled.set()
        close_old_connections()
        try:
            handle(task_id, queue)
        finally:
            if once or stop.requested.is_set():  # the thread may get no other job, and its session would stay
                connections.close_all()

    while not stop.requested.is_set():
        handled.clear()
        await _workers_until_stopped(counted, concurrency=concurrency, wait=not once, stop=stop)
        if once and not handled.is_set():
            break


async def _workers_until_stopped(
    handle: Callable[[UUID, str], None], *, concurrency: Mapping[str, int], wait: bool, stop: Stop
) -> None:
    """One life of procrastinate's workers; cancelling them makes them stop fetching and wait for their jobs."""
    loop = asyncio.get_running_loop()
    connector = PatientConnector(stop, kwargs=connector_params(), min_size=1, max_size=2, timeout=5.0)
    with app.replace_connector(connector) as working:
        try:
            async with working.open_async():
                workers = [
                    asyncio.create_task(
                        working.run_worker_async(
                            queues=[queue],
                            concurrency=places,
                            wait=wait,
                            fetch_job_polling_interval=POLL_SECONDS,
                            listen_notify=wait,
                            delete_jobs=jobs.DeleteJobCondition.SUCCESSFUL,
                            install_signal_handlers=False,
                            additional_context={"handle": handle},
                        )
                    )
                    for queue, places in concurrency.items()
                ]
                stop.subscribe(request=lambda: _cancel(loop, workers))
                await _until_one_ends(workers, wait=wait)
        except asyncio.CancelledError:
            if not stop.requested.is_set():
                raise
        except (exceptions.ConnectorException, psycopg.OperationalError) as error:
            # Away at the start, or its worker row was pruned while this process was stopped: begin anew, registered.
            if not wait:
                raise Unavailable(f"the job queue cannot be read: {_first_line(error)}") from error
            logger.warning("job queue: beginning anew: %s", _first_line(error))
            await asyncio.sleep(RETRY_SECONDS[-1])


def _first_line(error: BaseException) -> str:
    lines = str(error.__cause__ or error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


async def _until_one_ends(workers: Sequence[asyncio.Task[None]], *, wait: bool) -> None:
    """Wait for the workers: all of them, or until one ends that should go on, which takes the others along."""
    first = asyncio.FIRST_COMPLETED if wait else asyncio.ALL_COMPLETED
    await asyncio.wait(workers, return_when=first)
    for worker in workers:
        worker.cancel()
    await asyncio.gather(*workers)


def _cancel(loop: asyncio.AbstractEventLoop, workers: Sequence[asyncio.Task[None]]) -> None:
    if not loop.is_closed():
        for worker in workers:
            loop.call_soon_threadsafe(worker.cancel)
