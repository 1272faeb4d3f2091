"""Under load: the database restarts, sessions are cut, processes are told to stop; nothing lost, nothing doubled."""

from __future__ import annotations

import random
import time

import pytest

from tests.faults.harness import query, terminate, wait_for
from tests.faults.load import start_load

pytestmark = pytest.mark.process

RESTARTS = 5
MOMENTS = 20
PAIR = ("dispatcher", "worker")


def test_the_database_restarts_five_times_under_load(product, boxed):
    """X-4, X-6: crash recovery while firings and runs are under way; every process outlives it."""
    load = start_load()
    processes = [product.dispatcher(), product.dispatcher(), product.worker(), product.worker()]
    load.goes_on(20)
    for _ in range(RESTARTS):
        boxed.restart()
        wait_for(lambda: query("SELECT 1"), 60, "the database is back")
        load.goes_on(20)
    query(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    load.goes_on(20)
    assert [process.poll() for process in processes] == [None] * 4
    load.judge(product)


def test_twenty_stops_at_random_moments_lose_nothing(product, boxed, record_property):
    """X-33: SIGTERM to a dispatcher and a worker, each at its own moment; exit 0, and others go on."""
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed {seed}")  # noqa: T201 - to repeat it
    record_property("seed", seed)
    chance = random.Random(seed)
    load = start_load()
    running = {kind: [product.start(f"run_{kind}"), product.start(f"run_{kind}")] for kind in PAIR}
    for kind in PAIR:
        for process in running[kind]:
            product.serving(process)
    for _ in range(MOMENTS // len(PAIR)):
        leaving = {kind: running[kind].pop(0) for kind in PAIR}
        for kind, process in leaving.items():
            product.serving(process)
            time.sleep(chance.uniform(0, 0.6))
            assert terminate(process, 60) == 0, product.said(process)
            running[kind].append(product.start(f"run_{kind}"))
    load.goes_on(20)
    load.judge(product)
