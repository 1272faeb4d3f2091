"""Two sessions at once, on real connections: what the locks and constraints are for."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from django.db import connection, transaction

from audit.models import AuditEntry
from flowsched import db
from flowsched.errors import AlreadyExists, Busy, FlowschedError, NotFound, PreconditionFailed, VersionMismatch
from schedules.models import TaskSchedule
from schedules.ports import ports
from schedules.rows import CHANNEL
from schedules.services import (
    ScheduleChanges,
    schedule_create,
    schedule_delete,
    schedule_pause,
    schedule_resume,
    schedule_update,
)
from scopes.models import TaskScheduleScope
from scopes.services import scope_remove, scopes_add, scopes_reconcile
from tests.schedules.helpers import (
    ALICE,
    BOB,
    NOW,
    POWER_ON,
    columns,
    consumed,
    make_component,
    make_racks,
    make_schedule,
    of_types,
    whole,
)

pytestmark = pytest.mark.django_db(transaction=True)
PATIENCE = 20  # seconds a test waits for a thread before it fails; nothing waits that long when all is well


def at_once(*calls):
    """Run the calls in threads that start together, each on its own connection; return results or errors in order."""
    barrier = threading.Barrier(len(calls))

    def run(call):
        try:
            connection.ensure_connection()
            barrier.wait(PATIENCE)
            return call()
        except FlowschedError as error:
            return error
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as pool:
        return [future.result(PATIENCE) for future in [pool.submit(run, call) for call in calls]]


@contextmanager
def row_held(schedule):
    """Another session holds the schedule's row, as a firing does, until the block ends."""
    held, release = threading.Event(), threading.Event()

    def hold():
        try:
            with transaction.atomic():
                TaskSchedule.objects.select_for_update(no_key=True).get(pk=schedule.pk)
                held.set()
                release.wait(PATIENCE)
        finally:
            connection.close()

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        assert held.wait(PATIENCE)
        yield
    finally:
        release.set()
        thread.join(PATIENCE)


@pytest.fixture
def short_lock_timeout():
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '150ms'")
    yield
    with connection.cursor() as cursor:
        cursor.execute("RESET lock_timeout")


@pytest.mark.parametrize("attempt", range(3))
def test_f125_two_creates_with_one_name(attempt):
    """F-125."""
    racks = make_racks(2)

    def create(rack):
        return lambda: schedule_create(
            name="one", spec_type="interval", spec="1h", operation=POWER_ON, targets=whole(rack), by=ALICE, now=NOW
        )

    results = at_once(create(racks[0]), create(racks[1]))
    assert {type(result) for result in results} == {TaskSchedule, AlreadyExists}
    assert next(result for result in results if isinstance(result, AlreadyExists)).reason == "NAME_TAKEN"
    assert TaskSchedule.objects.count() == TaskScheduleScope.objects.count() == 1
    assert AuditEntry.objects.filter(refused="").count() == 1
    assert AuditEntry.objects.exclude(refused="").count() == 1


@pytest.mark.parametrize("attempt", range(3))
def test_two_updates_that_read_the_same_version_one_wins(attempt):
    schedule = make_schedule()

    def update(**changes):
        return lambda: schedule_update(
            schedule_id=schedule.pk, changes=ScheduleChanges(**changes), by=BOB, now=NOW, expected_version=1
        )

    results = at_once(update(spec="2h"), update(overlap_policy="queue"))
    assert {type(result) for result in results} == {TaskSchedule, VersionMismatch}
    row = columns(schedule)
    assert row["version"] == 2
    assert (row["spec"] == "2h") != (row["overlap_policy"] == "queue")


@pytest.mark.parametrize("attempt", range(3))
def test_two_updates_without_a_version_lose_nothing(attempt):
    schedule = make_schedule()

    def update(**changes):
        return lambda: schedule_update(schedule_id=schedule.pk, changes=ScheduleChanges(**changes), by=BOB, now=NOW)

    at_once(update(spec="2h"), update(overlap_policy="queue"), update(name="renamed"))
    row = columns(schedule)
    assert (row["spec"], row["overlap_policy"], row["name"], row["version"]) == ("2h", "queue", "renamed", 4)


def test_f147_f139_a_held_row_makes_every_verb_busy_and_changes_nothing(short_lock_timeout):
    """F-147, F-139."""
    schedule = make_schedule(racks=2)
    rack = make_racks(1)[0]
    scope = TaskScheduleScope.objects.filter(schedule=schedule).first()
    before, rows = columns(schedule), AuditEntry.objects.count()
    verbs = [
        lambda: schedule_pause(schedule_id=schedule.pk, by=ALICE, now=NOW),
        lambda: schedule_resume(schedule_id=schedule.pk, by=ALICE, now=NOW),
        lambda: schedule_update(schedule_id=schedule.pk, changes=ScheduleChanges(name="x"), by=ALICE, now=NOW),
        lambda: schedule_delete(schedule_id=schedule.pk, by=ALICE, now=NOW),
        lambda: scopes_add(schedule_id=schedule.pk, targets=whole(rack), by=ALICE, now=NOW),
        lambda: scopes_reconcile(schedule_id=schedule.pk, targets=whole(rack), by=ALICE, now=NOW),
        lambda: scope_remove(scope_id=scope.pk, by=ALICE, now=NOW),
    ]
    with row_held(schedule):
        for verb in verbs:
            with pytest.raises(Busy):
                verb()
    assert columns(schedule) == before
    assert AuditEntry.objects.count() == rows
    assert TaskScheduleScope.objects.count() == 2
    assert schedule_pause(schedule_id=schedule.pk, by=ALICE, now=NOW).enabled is False


def test_f310_what_is_withdrawn_is_withdrawn_while_the_row_is_locked(monkeypatch):
    """F-310: a firing that claims the schedule comes before the withdrawal or after the pause, never between."""
    schedule = make_schedule()
    skipped = []

    def withdraw(*args):
        def claim():
            with transaction.atomic():
                return list(
                    TaskSchedule.objects.select_for_update(no_key=True, skip_locked=True).filter(
                        pk=schedule.pk, enabled=True
                    )
                )

        skipped.extend(at_once(claim))
        return 0

    monkeypatch.setattr(ports, "withdraw", withdraw)
    schedule_pause(schedule_id=schedule.pk, by=ALICE, now=NOW)
    schedule_delete(schedule_id=schedule.pk, by=ALICE, now=NOW)
    assert skipped == [[], []]


@pytest.mark.parametrize("attempt", range(3))
def test_pause_and_resume_at_once_end_in_one_of_both_states(attempt):
    schedule = make_schedule()
    at_once(
        lambda: schedule_pause(schedule_id=schedule.pk, by=ALICE, now=NOW),
        lambda: schedule_resume(schedule_id=schedule.pk, by=BOB, now=NOW),
    )
    row = columns(schedule)
    assert (row["enabled"], row["version"]) in {(False, 2), (True, 3)}


@pytest.mark.parametrize("attempt", range(3))
def test_two_adds_of_one_rack_make_one_scope_with_both_filters(attempt):
    schedule, rack = make_schedule(), make_racks(1)[0]

    def add(kind):
        return lambda: scopes_add(schedule_id=schedule.pk, targets=of_types(rack, kind), by=ALICE, now=NOW)

    at_once(add("compute"), add("powershelf"), add("cdu"))
    scope = TaskScheduleScope.objects.get(schedule=schedule, rack=rack)
    assert set(scope.component_filter["types"]) == {"Compute", "PowerShelf", "CDU"}
    assert columns(schedule)["version"] == 4


@pytest.mark.parametrize("attempt", range(3))
def test_f162_the_last_two_scopes_cannot_both_be_removed(attempt):
    """F-162."""
    schedule = make_schedule(racks=2)
    scopes = list(TaskScheduleScope.objects.filter(schedule=schedule))
    results = at_once(*[lambda s=s: scope_remove(scope_id=s.pk, by=ALICE, now=NOW) for s in scopes])
    assert {type(result) for result in results} == {type(None), PreconditionFailed}
    assert TaskScheduleScope.objects.filter(schedule=schedule).count() == 1


@pytest.mark.parametrize("attempt", range(3))
def test_f162_one_scope_removed_twice_at_once(attempt):
    """F-162."""
    schedule = make_schedule(racks=3)
    scope = TaskScheduleScope.objects.filter(schedule=schedule).first()
    results = at_once(*[lambda: scope_remove(scope_id=scope.pk, by=ALICE, now=NOW)] * 2)
    assert {type(result) for result in results} == {type(None), NotFound}
    assert TaskScheduleScope.objects.filter(schedule=schedule).count() == 2


@pytest.mark.parametrize("attempt", range(3))
def test_delete_against_add_leaves_nothing_behind(attempt):
    schedule, rack = make_schedule(), make_racks(1)[0]
    results = at_once(
        lambda: schedule_delete(schedule_id=schedule.pk, by=ALICE, now=NOW),
        lambda: scopes_add(schedule_id=schedule.pk, targets=whole(rack), by=ALICE, now=NOW),
    )
    assert results[0] is None
    assert not TaskScheduleScope.objects.exists()


def test_a_scope_insert_and_an_admission_on_its_rack_do_not_wait_for_each_other(short_lock_timeout):
    """The rack's lock is FOR NO KEY UPDATE, and the insert's foreign key check passes it."""
    schedule, rack = make_schedule(), make_racks(1)[0]
    make_component(rack)
    held, release = threading.Event(), threading.Event()

    def hold():
        try:
            with transaction.atomic():
                type(rack).objects.select_for_update(no_key=True).get(pk=rack.pk)
                held.set()
                release.wait(PATIENCE)
        finally:
            connection.close()

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        assert held.wait(PATIENCE)
        assert scopes_add(schedule_id=schedule.pk, targets=whole(rack), by=ALICE, now=NOW).created
    finally:
        release.set()
        thread.join(PATIENCE)


def test_deleting_does_not_deadlock_with_a_write_back_of_the_scopes(short_lock_timeout):
    """Scopes are locked in the order of their ids before the cascade: a write-back that holds some makes it Busy."""
    schedule = make_schedule(racks=20)
    ids = sorted(TaskScheduleScope.objects.filter(schedule=schedule).values_list("pk", flat=True))
    held, release = threading.Event(), threading.Event()

    def write_back():
        try:
            with transaction.atomic():
                list(TaskScheduleScope.objects.select_for_update(no_key=True).filter(pk__in=ids[:1]))
                held.set()
                release.wait(PATIENCE)
                list(TaskScheduleScope.objects.select_for_update(no_key=True).filter(pk__in=ids[1:]).order_by("id"))
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(write_back)
        assert held.wait(PATIENCE)
        with pytest.raises(Busy):
            schedule_delete(schedule_id=schedule.pk, by=ALICE, now=NOW)
        release.set()
        future.result(PATIENCE)
    assert TaskScheduleScope.objects.filter(schedule=schedule).count() == 20
    schedule_delete(schedule_id=schedule.pk, by=ALICE, now=NOW)
    assert not TaskSchedule.objects.filter(pk=schedule.pk).exists()


def test_a_refused_verb_leaves_its_row_although_the_change_is_undone():
    schedule = consumed()
    with pytest.raises(PreconditionFailed):
        schedule_pause(schedule_id=schedule.pk, by=ALICE, now=NOW)
    assert AuditEntry.objects.exclude(refused="").get().verb == "schedule.pause"


def test_a_change_wakes_a_listener_after_its_commit():
    connection.ensure_connection()
    with connection.cursor() as cursor:
        cursor.execute(f"LISTEN {CHANNEL}")
    try:
        schedule = make_schedule()
        schedule_pause(schedule_id=schedule.pk, by=ALICE, now=NOW)
        got = [notice.channel for notice in connection.connection.notifies(timeout=0.2)]
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f"UNLISTEN {CHANNEL}")
    assert got == [CHANNEL, CHANNEL]


def test_nobody_is_woken_by_a_change_that_is_rolled_back():
    connection.ensure_connection()
    with connection.cursor() as cursor:
        cursor.execute(f"LISTEN {CHANNEL}")
    try:
        with transaction.atomic():
            db.notify(CHANNEL)
            transaction.set_rollback(True)
        got = [notice.channel for notice in connection.connection.notifies(timeout=0.1)]
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f"UNLISTEN {CHANNEL}")
    assert got == []
