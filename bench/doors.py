"""What the doors bear: `bin/bench doors`.

Requests a second and latencies of REST list and create under serve_web as it is deployed, and of gRPC get and create
under serve_grpc, beside a DRF view and a grpcio method that do nothing (bench/bare_doors.py), under the same workers
and threads, in the same rounds. The load is a process of its own (bench/load.py) with as many connections as a worker
has threads, twice. Every call is made by a caller with a token: looking it up is part of the price.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from bench import store

WORKERS, THREADS, GRPC_THREADS = 2, 4, 10  # what the product's servers have unless told otherwise
SCHEDULES = 1_000


@dataclass(frozen=True)
class Case:
    """One kind of call, and the name of its peer; a peer has none."""

    name: str
    job: dict[str, Any]
    peer: str = ""


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def process(*words: str, port: int, **environment: str) -> Iterator[None]:
    """A server, from listening to its orderly end."""
    child = subprocess.Popen([sys.executable, *words], env=os.environ | environment, stdout=subprocess.DEVNULL)
    try:
        for _ in range(300):
            if child.poll() is not None:
                raise SystemExit(f"{' '.join(words)} ended; see above")
            with socket.socket() as one:
                if one.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield
    finally:
        child.terminate()
        child.wait()


def gunicorn(application: str, port: int) -> list[str]:
    """The peer's server, as flowsched/web.py sets up ours."""
    return [
        "-m", "gunicorn", application, "--bind", f"127.0.0.1:{port}", "--workers", str(WORKERS), "--threads",
        str(THREADS), "--log-level", "warning",
    ]  # fmt: skip


def fill() -> tuple[str, str]:
    """Racks and schedules; the token of a caller, and a schedule's id."""
    from django.core.management import call_command  # noqa: PLC0415  after start()

    from access.services import token_create, user_create  # noqa: PLC0415
    from bench.drain import OPERATION  # noqa: PLC0415
    from bench.drain import SCHEDULES as INSERT  # noqa: PLC0415
    from flowsched import clock  # noqa: PLC0415
    from flowsched.actor import SYSTEM  # noqa: PLC0415

    call_command("demo_racks", racks=100, components=35, stdout=sys.stderr)
    store.execute(INSERT, "doors ", OPERATION, SCHEDULES)
    store.execute("VACUUM ANALYZE")
    now = clock.now()
    user_create(username="load", roles=["planner"], by=SYSTEM, now=now)
    token = token_create(username="load", life=None, by=SYSTEM, now=now)[1]
    [(schedule,)] = store.execute("SELECT id::text FROM task_schedule ORDER BY name LIMIT 1")
    return token, str(schedule)


def database_url() -> str:
    """The measurement's database, for the servers."""
    from django.db import connection  # noqa: PLC0415

    own = connection.settings_dict
    login = f"{own['USER']}:{own['PASSWORD']}@" if own["PASSWORD"] else f"{own['USER']}@" if own["USER"] else ""
    port = f"&port={own['PORT']}" if own["PORT"] else ""
    return f"postgres://{login}/{own['NAME']}?host={own['HOST']}{port}"


def measure(case: Case, *, seconds: float, threads: int) -> dict[str, Any]:
    """One round of one case."""
    job = case.job | {"seconds": seconds, "threads": threads}
    done = subprocess.run(
        [sys.executable, "-m", "bench.load"], input=json.dumps(job).encode(), stdout=subprocess.PIPE, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def report(cases: list[Case], rounds: dict[str, list[dict[str, Any]]]) -> None:
    """Medians over the rounds; ratios within a round."""
    heads = ("requests/s", "of bare", "p50 ms", "p95 ms")
    print(f"{'':<18}" + "".join(f"{head:>12}" for head in heads))

    def rate(one: dict[str, Any]) -> float:
        return len(one["latencies"]) / one["seconds"]

    for case in cases:
        mine = rounds[case.name]
        latencies = sorted(one for found in mine for one in found["latencies"])
        p50, p95 = (latencies[int(len(latencies) * q)] * 1000 for q in (0.5, 0.95))
        peers = rounds[case.peer] if case.peer else mine
        ratio = statistics.median(rate(one) / rate(peer) for one, peer in zip(mine, peers, strict=True))
        shown = f"{ratio:.0%}" if case.peer else ""
        print(f"{case.name:<18}{statistics.median(map(rate, mine)):>12,.0f}{shown:>12}{p50:>12.1f}{p95:>12.1f}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="measured rounds after a warming one (default 3)")
    parser.add_argument("--seconds", type=float, default=3, help="how long each kind of call is made (default 3)")
    parser.add_argument("--connections", type=int, default=2 * THREADS, help="callers at once (default 8)")
    options = parser.parse_args()
    store.start()
    rest, bare, flow, echo = (free_port() for _ in range(4))
    with store.database(), ExitStack() as servers:
        token, schedule = fill()
        theirs = {
            "DATABASE_URL": database_url(),
            "FLOWSCHED_API_REQUESTS_PER_MINUTE": "100000000",
            "DJANGO_SETTINGS_MODULE": "flowsched.settings",
        }
        start = servers.enter_context
        start(process("manage.py", "serve_web", "--bind", f"127.0.0.1:{rest}", port=rest, **theirs))
        start(process(*gunicorn("bench.bare_doors:application", bare), port=bare))
        start(process("manage.py", "serve_grpc", "--bind", f"127.0.0.1:{flow}", port=flow, **theirs))
        start(process("-m", "bench.bare_doors", f"127.0.0.1:{echo}", str(GRPC_THREADS), port=echo))

        def case(name: str, kind: str, port: int, path: str, peer: str = "", *, create: bool = False) -> Case:
            job = {"kind": kind, "host": f"127.0.0.1:{port}", "path": path, "create": create}
            return Case(name, job | {"token": token, "id": schedule}, peer)

        cases = [
            case("bare DRF view", "http", bare, "/bare/"),
            case("REST list of 50", "http", rest, "/api/v1/schedules/?limit=50", "bare DRF view"),
            case("REST create", "http", rest, "/api/v1/schedules/", "bare DRF view", create=True),
            case("bare grpcio", "grpc", echo, "/Bare/Echo"),
            case("gRPC get", "grpc", flow, "/v1.Flow/GetTaskSchedule", "bare grpcio"),
            case("gRPC create", "grpc", flow, "/v1.Flow/CreateTaskSchedule", "bare grpcio", create=True),
        ]
        rounds: dict[str, list[dict[str, Any]]] = {one.name: [] for one in cases}
        for number in range(options.rounds + 1):
            store.say(f"round {number} of {options.rounds}{' (warming, not counted)' if not number else ''}")
            for one in cases:
                found = measure(one, seconds=options.seconds if number else 1, threads=options.connections)
                if number:
                    rounds[one.name].append(found)
        report(cases, rounds)


if __name__ == "__main__":
    main()
