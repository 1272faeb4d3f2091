from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import DataError, OperationalError, connection, transaction
from psycopg.errors import DeadlockDetected

from audit.models import AuditEntry
from flowsched.errors import Busy, InvalidInput, KeyReused, PreconditionFailed, QueueFull
from inventory.models import Rack
from inventory.targets import ResolvedTarget
from tasks import submission
from tasks.lanes import lanes_lock
from tasks.models import Task
from tasks.operations import Operation, operation
from tasks.services import submission_refusal, task_submit
from tests.tasks.admission.helpers import ALICE, NOW, admit_one, components_of, in_threads, make_rack, parts, status

pytestmark = pytest.mark.django_db
RESET = operation("power_reset")


def target(rack, types=None, components=None):
    return ResolvedTarget(rack.id, rack.name, types, components)


def submit(*racks, op=RESET, **values):
    targets = [rack if isinstance(rack, ResolvedTarget) else target(rack) for rack in racks]
    return task_submit(operation=op, targets=targets, by=ALICE, now=NOW, **values)


def test_one_task_per_rack_in_request_order():
    """F-165, F-166: order of the request, not of the locks."""
    racks = sorted((make_rack(f"r{n}") for n in range(6)), key=lambda r: r.id, reverse=True)
    outcomes = submit(*racks, description="why")
    tasks = Task.objects.in_bulk([o.task_id for o in outcomes])
    assert [tasks[o.task_id].rack_id for o in outcomes] == [r.id for r in racks]
    assert {t.description for t in tasks.values()} == {"why"}


def test_targets_are_narrowed():
    rack, other = make_rack(Compute=2, UMS=1), make_rack("r02")
    one, two = submit(target(rack, types=("UMS",)), target(other, components=parts(other)[:1]))
    assert components_of(one.task_id) == {"UMS": set(parts(rack, "UMS"))}
    assert components_of(two.task_id) == {"Compute": {parts(other)[0]}}


def test_refused_racks_are_outcomes_with_codes():
    """F-166, F-243: one rack's refusal leaves the others alone."""
    busy, gone, fine = make_rack("r01"), make_rack("r02"), make_rack("r03")
    admit_one(busy)
    Rack.objects.filter(id=gone.id).update(deleted_at=NOW)
    outcomes = submit(busy, gone, fine)
    assert [(o.state, o.reason_code) for o in outcomes] == [
        ("rejected", "rack_busy"),
        ("failed", "rack_gone"),
        ("submitted", ""),
    ]


@pytest.mark.parametrize("kind", ["bring_up", "ingest"])
def test_bring_up_and_ingest_reject_unless_asked_to_queue(kind):
    """F-168, F-313: the doors that have no queue option do not ask; whoever asks may wait."""
    rack = make_rack()
    admit_one(rack)
    assert submit(rack, op=operation(kind))[0].reason_code == "rack_busy"
    (outcome,) = submit(rack, op=operation(kind), queue=True)
    assert status(outcome.task_id) == "waiting"


def test_a_direct_ingest_is_labelled_as_one():
    """F-313."""
    (outcome,) = submit(make_rack(), op=operation("ingest"))
    task = Task.objects.get(id=outcome.task_id)
    assert (task.code, task.information) == ("ingest", {"op_code": "ingest"})


@pytest.mark.parametrize(
    ("asked", "given"),
    [(None, timedelta(hours=1)), (timedelta(0), timedelta(hours=1)), (timedelta(seconds=9), timedelta(seconds=9))],
)
def test_queue_timeout(asked, given):
    """F-169: none, zero and negative mean the default."""
    rack = make_rack()
    admit_one(rack)
    (outcome,) = submit(rack, queue=True, queue_timeout=asked)
    assert Task.objects.get(id=outcome.task_id).queue_expires_at == NOW + given


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"op": Operation("firmware_control", "upgrade", {"authentication_data": "x"})}, "authentication_data"),
        ({"op": Operation("firmware_control", "upgrade", {"start_time": 2, "end_time": 1})}, "end_time"),
        ({"op": Operation("power_control", "restart", {"rule_id": "x"})}, "rule_id"),
        ({"description": "x" * 1001}, "description"),
        ({"description": "\x00"}, "description"),
        ({"queue_timeout": timedelta(days=366)}, "queue_timeout"),
    ],
)
def test_what_no_rack_could_take_is_refused_before_any(values, field):
    """F-243, F-314."""
    with pytest.raises(InvalidInput) as caught:
        submit(make_rack(), **values)
    assert list(caught.value.fields) == [field]
    assert not Task.objects.exists()


def test_at_least_one_rack_at_most_the_limit_none_twice(settings):
    """F-243, F-245: repeated racks are merged before they come here."""
    settings.FLOWSCHED_MAX_SCOPES_PER_SCHEDULE = 1
    rack = make_rack()
    for racks in ([], [rack, make_rack("r02")]):
        with pytest.raises(InvalidInput):
            submit(*racks)
    settings.FLOWSCHED_MAX_SCOPES_PER_SCHEDULE = 2
    with pytest.raises(InvalidInput, match="twice"):
        submit(rack, rack)


def test_a_repeated_request_key_makes_nothing_twice():
    """F-250: per rack, so that a repeat completes what the first left out."""
    key, rack, other = uuid4(), make_rack(), make_rack("r02")
    (first,) = submit(rack, idempotency_key=key)
    again, new = submit(rack, other, idempotency_key=key)
    assert (again, new.state) == (first, "submitted")
    assert (first.rack_id, first.rack_name, new.rack_name) == (rack.id, rack.name, "r02")
    assert Task.objects.count() == 2
    assert submit(rack)[0].reason_code == "rack_busy"  # no key: another request


def test_a_request_key_with_another_operation_is_refused():
    key, rack = uuid4(), make_rack()
    submit(rack, idempotency_key=key)
    with pytest.raises(KeyReused, match="power reset"):
        submit(rack, op=operation("power_off"), idempotency_key=key)


def test_the_error_for_a_request_nobody_accepted(settings):
    """F-166, F-154, D-13: the shared code, each rack's reason, a bound on the list."""
    settings.FLOWSCHED_MAX_WAITING_PER_RACK = 0
    racks = [make_rack(f"r{n:02}") for n in range(22)]
    for rack in racks:
        admit_one(rack)
    busy = submission_refusal(submit(*racks))
    assert (type(busy), busy.reason) == (PreconditionFailed, "rack_busy")
    assert "rack r00 is busy" in busy.message
    assert busy.message.endswith("; and 2 more racks")
    assert [(r.rack_id, r.rack_name, r.outcome, r.code) for r in busy.refusals] == [
        (rack.id, rack.name, "rejected", "rack_busy") for rack in racks
    ]
    assert all(f"rack {r.rack_name} is busy" in r.reason for r in busy.refusals)
    full = submission_refusal(submit(*racks, queue=True))
    assert (type(full), full.reason) == (QueueFull, "queue_full")
    Rack.objects.filter(id=racks[0].id).update(deleted_at=NOW)
    mixed = submission_refusal(submit(*racks[:2], queue=True))
    assert (type(mixed), mixed.reason) == (PreconditionFailed, "")


def test_one_audit_row_a_call():
    """D-22: what was asked, which task each rack got, who was refused."""
    rack, busy = make_rack(), make_rack("r02")
    admit_one(busy)
    key = uuid4()
    outcome, _ = submit(rack, busy, idempotency_key=key)
    (entry,) = AuditEntry.objects.all()
    assert (entry.actor, entry.verb, entry.object_id) == ("alice", "task.submit", str(key))
    assert (entry.object_name, entry.refused) == ("power reset", "")
    assert entry.after["tasks"] == {"r01": str(outcome.task_id)}
    assert entry.after["refused"] == {"r02": "rack_busy"}


def test_a_refused_call_leaves_a_refused_row():
    """D-22."""
    rack = make_rack()
    admit_one(rack)
    submit(rack)
    (entry,) = AuditEntry.objects.all()
    assert (entry.verb, entry.after) == ("task.submit", None)
    assert "rack r01 is busy" in entry.refused


def test_chunks_are_transactions_of_their_own(monkeypatch):
    """A request larger than one chunk: every rack is reached, in request order, each chunk with its audit row."""
    monkeypatch.setattr(submission, "MAX_BATCH", 2)
    racks = [make_rack(f"r{n}") for n in range(5)]
    outcomes = submit(*racks)
    tasks = Task.objects.in_bulk([o.task_id for o in outcomes])
    assert [tasks[o.task_id].rack_name for o in outcomes] == ["r0", "r1", "r2", "r3", "r4"]
    entries = AuditEntry.objects.all()
    assert (len(entries), len({e.object_id for e in entries})) == (3, 1)


def test_one_bad_row_fails_alone(monkeypatch):
    """A chunk the database refuses is repeated rack by rack."""
    racks = [make_rack(f"r{n}") for n in range(3)]
    real = submission.tasks_admit

    def admit(chunk, **values):
        result = real(chunk, **values)
        if any(s.rack_id == racks[1].id for s in chunk):
            raise DataError("row refused")
        return result

    monkeypatch.setattr(submission, "tasks_admit", admit)
    outcomes = submit(*racks)
    assert [(o.state, o.reason_code) for o in outcomes] == [
        ("submitted", ""),
        ("failed", "submission_error"),
        ("submitted", ""),
    ]
    assert "refused" not in outcomes[1].reason
    assert Task.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_a_held_rack_is_tried_again_after_the_others(monkeypatch):
    """D-15: it follows by itself under a lock timeout, and is named if that runs out."""
    monkeypatch.setattr(submission, "LOCK_TIMEOUT", timedelta(milliseconds=50))
    held, free = make_rack("r01"), make_rack("r02")
    with transaction.atomic():
        lanes_lock([held.id])
        ((one, two),) = in_threads(lambda: submit(held, free))
        ((alone,),) = in_threads(lambda: submit(held))
    assert (one.state, one.reason_code, two.state) == ("locked", "rack_locked", "submitted")
    assert isinstance(submission_refusal([alone]), Busy)
    assert AuditEntry.objects.filter(refused__contains="rack r01 is held").count() == 1
    assert submit(held)[0].state == "submitted"


def test_a_deadlocked_chunk_is_repeated_rack_by_rack(monkeypatch):
    """Lock trouble in a chunk costs a second try, not the request."""
    real, calls = submission.tasks_admit, []

    def admit(chunk, **values):
        calls.append(len(chunk))
        if len(chunk) > 1:
            raise OperationalError from DeadlockDetected()
        return real(chunk, **values)

    monkeypatch.setattr(submission, "tasks_admit", admit)
    assert [o.state for o in submit(make_rack("r01"), make_rack("r02"))] == ["submitted"] * 2
    assert calls == [2, 1, 1]


@pytest.mark.django_db(transaction=True)
def test_a_rack_released_meanwhile_gets_its_task(monkeypatch):
    """D-15: the second try waits for the lock."""
    held = make_rack()
    real = submission._single
    released = []

    def single(*args, **values):
        holder.rollback()
        released.append(True)
        return real(*args, **values)

    monkeypatch.setattr(submission, "_single", single)
    holder = connection.copy()
    try:
        holder.set_autocommit(False)
        with holder.cursor() as cursor:
            cursor.execute("SELECT 1 FROM rack WHERE id = %s FOR NO KEY UPDATE", [held.id])
        assert submit(held)[0].state == "submitted"
    finally:
        holder.close()
    assert released == [True]
