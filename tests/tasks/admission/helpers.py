"""Racks, submissions and threads for the tests of admission."""

import threading
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

from django.db import connection, transaction

from flowsched.actor import Actor, Door
from inventory.models import Component, Rack
from tasks.admission import tasks_admit
from tasks.models import Run, Task
from tasks.operations import operation
from tasks.submissions import Submission

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
ALICE = Actor("alice", Door.REST, "req-1")


def make_rack(name="r01", **types):
    """A rack with so many components of each type: make_rack(Compute=2, PowerShelf=1)."""
    rack = Rack.objects.create(name=name, manufacturer="m", serial_number=f"serial-{name}")
    for type_, count in (types or {"Compute": 2}).items():
        for n in range(count):
            Component.objects.create(rack=rack, type=type_, name=f"{type_}-{n}", serial_number=f"{name}-{type_}-{n}")
    return rack


def parts(rack, type_="Compute"):
    return tuple(Component.objects.filter(rack=rack, type=type_).order_by("name").values_list("id", flat=True))


def sub(rack, kind="power_reset", **changes):
    op = operation(kind)
    values = {
        "key": uuid4(),
        "rack_id": rack.id,
        "rack_name": rack.name,
        "types": None,
        "components": None,
        "type": op.type,
        "code": op.code,
        "information": op.information,
        "description": "",
        "queue": False,
        "queue_timeout": None,
    }
    return Submission(**(values | changes))


def admit(*submissions, now=NOW, wait=False):
    with transaction.atomic():
        return tasks_admit(submissions, now=now, wait=wait)


def admit_one(*args, now=NOW, **changes):
    """Admit one submission that must be accepted; its task."""
    (outcome,) = admit(sub(*args, **changes), now=now)
    assert outcome.state == "submitted", outcome
    return Task.objects.get(id=outcome.task_id)


def start_run(task, *, state="running", lease_until=NOW + 30 * SECOND):
    """What a worker leaves that has begun a task."""
    Task.objects.filter(id=task.id).update(status="running", started_at=NOW)
    return Run.objects.create(
        task=task,
        state=state,
        executor="simulated",
        lease_owner="w1",
        lease_token=uuid4(),
        lease_until=lease_until,
        queued_at=NOW,
        started_at=NOW,
    )


def status(task):
    return Task.objects.values_list("status", flat=True).get(id=task.id if hasattr(task, "id") else task)


def components_of(task_id: UUID):
    by_type = Task.objects.get(id=task_id).attributes["components_by_type"]
    return {name: {UUID(i) for i in ids} for name, ids in by_type.items()}


def in_threads(*functions):
    """Run each in a thread with a connection of its own, all let go at once; their results or errors in order."""
    barrier = threading.Barrier(len(functions))
    results = [None] * len(functions)

    def work(position, function):
        try:
            barrier.wait(timeout=10)
            results[position] = function()
        except Exception as error:  # noqa: BLE001  handed to the test
            results[position] = error
        finally:
            connection.close()

    threads = [threading.Thread(target=work, args=pair) for pair in enumerate(functions)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
        assert not thread.is_alive()
    return results


class Background:
    """A function in a thread with a connection of its own; `join` gives its result or error."""

    def __init__(self, function):
        self.function = function
        self.result = None
        self.thread = threading.Thread(target=self._work)
        self.thread.start()

    def _work(self):
        try:
            self.result = self.function()
        except Exception as error:  # noqa: BLE001  handed to the test
            self.result = error
        finally:
            connection.close()

    def join(self):
        self.thread.join(timeout=30)
        assert not self.thread.is_alive()
        return self.result


def wait_for_blocked():
    """Until a session of this database waits for a lock; asks the database, bounded."""
    for _ in range(2000):
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_stat_clear_snapshot(), pg_sleep(0.005)")
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
            )
            if cursor.fetchone()[0]:
                return
    raise AssertionError("nobody waits for a lock")
