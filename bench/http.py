"""What HTTP calls cost, and what hung targets cost the others: `bin/bench http`.

One worker as it is deployed carries out calls to a target that answers after 20 ms: alone, and beside hung targets,
each an endpoint of its own with more calls than it has places. The peer in the same rounds is what a scheduler without
a record does: httpx in one process, as many requests at a time as the worker has places, nothing written down.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import statistics
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from bench import store

PLACES = 16
HUNG_PLACES = 8
DONE = "SELECT count(*) FROM task WHERE status = 'completed'"


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def endpoints(port: int, hung: int) -> str:
    """One that answers and so many that hang, as configuration."""
    common = {"kind": "api", "base_url": f"http://127.0.0.1:{port}", "path_prefixes": ["/"]}
    named = {f"hung-{n}": {**common, "max_connections": HUNG_PLACES} for n in range(hung)}
    return json.dumps({"healthy": {**common, "max_connections": PLACES}, **named})


def submit(endpoint: str, path: str, count: int) -> uuid.UUID:
    """So many calls of one schedule, ready to be carried out; its id."""
    from django.db import transaction  # noqa: PLC0415  after start()

    from flowsched import clock  # noqa: PLC0415
    from tasks.admission import MAX_BATCH, tasks_admit  # noqa: PLC0415
    from tasks.submissions import Submission  # noqa: PLC0415

    lane = uuid.uuid4()
    information = {
        "target": {"endpoint": endpoint, "method": "GET", "path": path},
        "identity": {"kind": "none"},
        "policy": {"timeout": 600, "max_running_instances": 1000},
    }
    for start in range(0, count, MAX_BATCH):
        batch = [
            Submission(
                key=uuid.uuid4(), rack_id=None, rack_name="", types=None, components=None, type="http_call",
                code="api", information=information, description="", queue=False, queue_timeout=None,
                schedule_id=lane, schedule_name=endpoint, fired_at=clock.now(),
            )
            for _ in range(min(MAX_BATCH, count - start))
        ]  # fmt: skip
        with transaction.atomic():
            refused = [o for o in tasks_admit(batch, now=clock.now()) if o.state != "submitted"]
        assert not refused, refused[0].reason
    return lane


@contextmanager
def worker(configuration: str) -> Iterator[None]:
    """One, on the bench's database."""
    from django.db import connection  # noqa: PLC0415

    s = connection.settings_dict
    host = s["HOST"] or "localhost"
    query = f"?host={host}" if host.startswith("/") else ""
    where = "" if host.startswith("/") else f"{host}:{s['PORT']}"
    url = f"postgres://{s['USER']}:{s['PASSWORD']}@{where}/{s['NAME']}{query}"
    environment = os.environ | {"FLOWSCHED_ENDPOINTS": configuration, "DATABASE_URL": url, "FLOWSCHED_TESTING": "1"}
    words = [sys.executable, "manage.py", "run_worker"]
    child = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        child.kill()
        child.wait()


def drained(lane: uuid.UUID, count: int) -> float:
    """Calls a second, from the first that began to the last that ended, by the database's clock."""
    ended = 0
    while ended < count:
        time.sleep(0.2)
        ended = store.execute("SELECT count(*) FROM task WHERE lane = %s AND status = 'completed'", lane)[0][0]
    took = store.execute(
        "SELECT extract(epoch FROM max(finished_at) - min(started_at)) FROM task WHERE lane = %s", lane
    )[0][0]
    return count / float(took)


def ours(port: int, calls: int, hung: int) -> float:
    """Calls a second of a worker that is at work, beside so many hung endpoints with twice as many calls as places."""
    from django.db import connection  # noqa: PLC0415

    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE task, run, procrastinate_jobs, procrastinate_events CASCADE")
    for n in range(hung):
        submit(f"hung-{n}", "/hang", 2 * HUNG_PLACES)
    submit("healthy", "/ok", 1)
    with worker(endpoints(port, hung)):
        under_way = f"SELECT count(*) FROM run WHERE state = 'running' AND in_flight <> '' AND {hung} > 0"
        while store.execute(under_way)[0][0] < hung * HUNG_PLACES or not store.execute(DONE)[0][0]:
            time.sleep(0.2)
        return drained(submit("healthy", "/ok", calls), calls)


async def peer(port: int, calls: int) -> float:
    """The same calls, each by a client of the kind a scheduler without a record uses."""
    import httpx  # noqa: PLC0415

    places = asyncio.Semaphore(PLACES)
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=600, trust_env=False) as client:

        async def one() -> None:
            async with places:
                response = await client.get("/ok")
                assert response.status_code == 200

        began = time.monotonic()
        await asyncio.gather(*(one() for _ in range(calls)))
        return calls / (time.monotonic() - began)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--hung", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    port = free_port()
    os.environ["FLOWSCHED_ENDPOINTS"] = endpoints(port, given.hung)
    store.start()
    target = subprocess.Popen([sys.executable, "-m", "bench.http_target", str(port), "20"])
    found: dict[str, list[float]] = {"alone": [], "beside hung": [], "peer": []}
    try:
        with store.database():
            for n in range(given.rounds + 1):  # the first warms
                figures = {
                    "peer": asyncio.run(peer(port, given.calls)),
                    "alone": ours(port, given.calls, 0),
                    "beside hung": ours(port, given.calls, given.hung),
                }
                print(
                    f"round {n}: " + ", ".join(f"{name} {value:.0f}/s" for name, value in figures.items()), flush=True
                )
                if n:
                    for name, value in figures.items():
                        found[name].append(value)
    finally:
        target.kill()
        target.wait()
    middle = {name: statistics.median(values) for name, values in found.items()}
    print(f"one worker, target answers after 20 ms: {middle['alone']:.0f} calls/s")
    print(f"beside {given.hung} hung endpoints: {middle['beside hung']:.0f} calls/s", end=", ")
    print(f"{middle['beside hung'] / middle['alone']:.0%} of that")
    print(f"httpx alone, nothing recorded: {middle['peer']:.0f} calls/s; a worker reaches", end=" ")
    print(f"{middle['alone'] / middle['peer']:.0%} of it")


if __name__ == "__main__":
    main()
