"""What each page of the admin costs on a large installation: `python -m bench.pages [--schedules N …]`.

Fills a database of its own as `demo_racks` and `demo_history` do, then asks for every page several times in this
process: statements, milliseconds of the server's work (middle of the runs) and kilobytes of HTML.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench import store

RUNS = 5


def paths(*, schedule: str, rack: str, task: str, firing: int) -> dict[str, str]:
    """Each page under its name; what costs most by itself."""
    one = f"/admin/schedules/{schedule}/"
    return {
        "dashboard": "/admin/",
        "schedules": "/admin/schedules/",
        "schedules, searched": "/admin/schedules/?q=reset",
        "schedules, last page": "/admin/schedules/?page=2",
        "schedule": one,
        "schedule, firings": f"{one}?tab=firings",
        "schedule, one firing": f"{one}?tab=firings&firing={firing}",
        "schedule, changes": f"{one}?tab=changes",
        "schedule, form": f"{one}edit/",
        "schedule, new": "/admin/schedules/add/",
        "schedule, trigger": f"{one}do/trigger/",
        "rack search": "/admin/schedules/rack-search/?q=demo",
        "tasks, active": "/admin/tasks/",
        "tasks, all": "/admin/tasks/?view=all",
        "tasks, failed": "/admin/tasks/?view=failed",
        "task": f"/admin/tasks/{task}/",
        "racks": "/admin/racks/",
        "racks, searched": "/admin/racks/?q=demo-00",
        "rack": f"/admin/racks/{rack}/",
        "outcomes": "/admin/outcomes/",
        "calendar, month": "/admin/calendar/?view=month",
        "calendar, week": "/admin/calendar/?view=week",
        "calendar, list": "/admin/calendar/?view=list",
        "calendar, one rack": f"/admin/calendar/?rack={rack}",
        "calendar feeds": "/admin/calendar/feeds/",
        "audit": "/admin/audit/",
        "users": "/admin/auth/user/",
    }


def some() -> dict[str, str]:
    """The pages, of a schedule, rack and task in the middle."""
    from dispatcher.models import FiringScope  # noqa: PLC0415  after start()

    row = FiringScope.objects.filter(task_id__isnull=False).select_related("firing").order_by("-id")[0]
    firing = row.firing
    return paths(schedule=str(firing.schedule_id), rack=str(row.rack_id), task=str(row.task_id), firing=firing.pk)


def measured() -> Iterator[tuple[str, int, float, float]]:
    """(name, statements, ms, KB) of each page, as a superuser sees it."""
    from django.contrib.auth.models import User  # noqa: PLC0415  after start()
    from django.db import connection  # noqa: PLC0415
    from django.test import Client  # noqa: PLC0415
    from django.test.utils import CaptureQueriesContext  # noqa: PLC0415

    client = Client()
    client.force_login(User.objects.create_superuser("bench", "", "not a password that is used"))
    for name, path in some().items():
        with CaptureQueriesContext(connection) as queries:
            response = client.get(path)
        statements = len(queries)  # now: the next request clears the list
        if response.status_code != 200:
            raise SystemExit(f"{path} answered {response.status_code}")
        times = []
        for _ in range(RUNS):
            start = time.perf_counter()
            client.get(path)
            times.append((time.perf_counter() - start) * 1000)
        yield name, statements, statistics.median(times), len(response.content) / 1000


def main() -> None:
    """Fill, measure, print."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--racks", type=int, default=2000)
    asked.add_argument("--schedules", type=int, default=10_000)
    asked.add_argument("--firings", type=int, default=100_000)
    options = asked.parse_args()
    store.start()
    from django.core.management import call_command  # noqa: PLC0415  after start()
    from django.test.utils import setup_test_environment  # noqa: PLC0415

    setup_test_environment()
    with store.database():
        start = time.perf_counter()
        call_command("demo_racks", racks=options.racks, stdout=sys.stderr)
        call_command("demo_history", schedules=options.schedules, firings=options.firings, stdout=sys.stderr)
        store.execute("VACUUM ANALYZE")
        store.say(f"filled in {time.perf_counter() - start:.0f} s")
        print(f"{'page':24} {'statements':>10} {'ms':>8} {'KB':>7}")
        for name, statements, ms, kilobytes in measured():
            print(f"{name:24} {statements:10} {ms:8.1f} {kilobytes:7.1f}")


if __name__ == "__main__":
    main()
