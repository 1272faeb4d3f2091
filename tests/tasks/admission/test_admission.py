import json
from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import connection, transaction
from django.db.transaction import TransactionManagementError
from django.test.utils import CaptureQueriesContext

from inventory.models import Component, Rack
from tasks.admission import tasks_admit
from tasks.models import Task
from tests.tasks.admission.helpers import (
    NOW,
    SECOND,
    admit,
    admit_one,
    components_of,
    make_rack,
    parts,
    start_run,
    sub,
)

pytestmark = pytest.mark.django_db


def statements(function):
    with CaptureQueriesContext(connection) as captured:
        function()
    return [q["sql"] for q in captured if not q["sql"].startswith(("SAVEPOINT", "RELEASE", "BEGIN", "COMMIT"))]


def test_a_free_rack_gets_a_pending_task_with_its_components(engine):
    """F-246, F-247: pending at once, components by type, enqueued in the same transaction."""
    rack = make_rack(Compute=2, PowerShelf=1)
    asked = sub(rack, description="why", schedule_id=uuid4(), schedule_name="Nightly")
    (outcome,) = admit(asked)
    task = Task.objects.get(id=outcome.task_id)
    assert (outcome.key, outcome.state, outcome.reason_code, outcome.reason) == (asked.key, "submitted", "", "")
    assert (task.status, task.message, task.lane, task.rack_id) == ("pending", "Pending", rack.id, rack.id)
    assert (task.type, task.code, task.information) == (asked.type, asked.code, asked.information)
    assert (task.rack_name, task.description, task.schedule_id) == ("r01", "why", asked.schedule_id)
    assert (task.schedule_name, task.idempotency_key, task.executor_type) == ("Nightly", asked.key, "simulated")
    assert components_of(task.id) == {"Compute": set(parts(rack)), "PowerShelf": set(parts(rack, "PowerShelf"))}
    assert (task.created_at, task.updated_at, task.queue_expires_at) == (NOW, NOW, None)
    assert (task.started_at, task.finished_at) == (None, None)  # F-241
    assert engine.ids == [task.id]


def test_types_are_evaluated_against_the_inventory_now():
    """F-207: a type filter takes what is there now, old spellings included, and leaves removed parts out."""
    rack = make_rack(Compute=2, NVSwitch=2, PowerShelf=1)
    gone, kept = parts(rack, "NVSwitch")
    Component.objects.filter(id=gone).update(deleted_at=NOW)
    task = admit_one(rack, types=("NVLSwitch", "powershelf"))
    assert components_of(task.id) == {"NVSwitch": {kept}, "PowerShelf": set(parts(rack, "PowerShelf"))}


def test_named_components():
    """F-207."""
    rack = make_rack(Compute=3)
    chosen = parts(rack)[:2]
    assert components_of(admit_one(rack, components=(*chosen, chosen[0])).id) == {"Compute": set(chosen)}


@pytest.mark.parametrize("busy", [False, True], ids=["free rack", "busy rack"])
def test_a_component_that_is_elsewhere_fails_its_rack_only(busy):
    """F-244, X-39: nothing is done with the rest of the rack either."""
    rack, other = make_rack(), make_rack("r02")
    if busy:
        admit_one(rack, "power_on", components=parts(rack)[:1])
    moved, kept = parts(rack)[1], parts(other)
    Component.objects.filter(id=moved).update(rack=other)
    before = Task.objects.filter(rack_id=rack.id).count()
    failed, fine = admit(sub(rack, components=(*parts(rack), moved)), sub(other, components=kept))
    assert (failed.state, failed.task_id, failed.reason_code) == ("failed", None, "component_moved")
    assert "r01" in failed.reason
    assert str(moved) in failed.reason
    assert fine.state == "submitted"
    assert Task.objects.filter(rack_id=rack.id).count() == before


@pytest.mark.parametrize("busy", [False, True], ids=["free rack", "busy rack"])
@pytest.mark.parametrize(
    ("changes", "code", "word"),
    [
        ({"types": ("CDU",)}, "no_components", "CDU"),
        ({"types": ("teapot",)}, "unknown_type", "teapot"),
        ({"types": ()}, "no_components", "r01"),
        ({"components": ()}, "no_components", "r01"),
    ],
)
def test_nothing_to_act_on(busy, changes, code, word):
    """F-204, F-243: a target that matches nothing is a failure with its reason."""
    rack = make_rack(Compute=2, UMS=1)
    if busy:
        admit_one(rack, types=("UMS",))
    (outcome,) = admit(sub(rack, **changes))
    assert (outcome.state, outcome.reason_code) == ("failed", code)
    assert word in outcome.reason


def test_a_rack_that_is_gone():
    """F-244: soft-deleted or never there."""
    removed, never = make_rack(), Rack(id=uuid4(), name="r99")
    Rack.objects.filter(id=removed.id).update(deleted_at=NOW)
    outcomes = admit(sub(removed), sub(never))
    assert [(o.state, o.reason_code) for o in outcomes] == [("failed", "rack_gone")] * 2
    assert "r99" in outcomes[1].reason


def test_reject_names_the_task_in_the_way():
    """F-247: conflict and no queue: no row."""
    rack = make_rack()
    first = admit_one(rack, schedule_name="Nightly reset")
    (outcome,) = admit(sub(rack))
    assert (outcome.state, outcome.task_id, outcome.reason_code) == ("rejected", None, "rack_busy")
    assert outcome.reason.startswith(
        f"rack r01 is busy: power reset of schedule 'Nightly reset' (task {first.id}) is pending"
    )
    assert Task.objects.count() == 1


def test_queue_waits_until_its_deadline(engine):
    """F-247, F-241: waiting with an expiry, not enqueued; default timeout one hour."""
    rack = make_rack()
    first = admit_one(rack)
    second = admit_one(rack, queue=True)
    third = admit_one(rack, queue=True, queue_timeout=timedelta(minutes=5))
    fourth = admit_one(rack, queue=True, queue_timeout=timedelta(seconds=-1))  # F-169
    assert [t.status for t in (second, third, fourth)] == ["waiting"] * 3
    assert second.message == f"Waiting behind power reset (task {first.id})"
    assert second.queue_expires_at == fourth.queue_expires_at == NOW + timedelta(hours=1)
    assert third.queue_expires_at == NOW + timedelta(minutes=5)
    assert engine.ids == [first.id]


def test_queue_limit(settings):
    """F-247: at most five wait, a setting; the sentence says so."""
    rack = make_rack()
    admit_one(rack)
    outcomes = admit(*(sub(rack, queue=True) for _ in range(6)))
    assert [o.state for o in outcomes] == ["submitted"] * 5 + ["rejected"]
    assert (outcomes[5].reason_code, "5 tasks are waiting" in outcomes[5].reason) == ("queue_full", True)
    settings.FLOWSCHED_MAX_WAITING_PER_RACK = 6
    assert admit(sub(rack, queue=True))[0].state == "submitted"


def test_nobody_overtakes_a_waiting_task_it_conflicts_with():
    """F-260 as corrected by D-15 (F-304): waiting tasks count; a compatible newcomer may go ahead."""
    rack = make_rack(Compute=2, UMS=1)
    one, two = parts(rack)
    admit_one(rack, components=(one,))
    waiting = admit_one(rack, components=(one, two), queue=True)
    (refused,) = admit(sub(rack, components=(two,)))
    assert refused.reason_code == "rack_busy"
    assert f"(task {waiting.id}) is waiting" in refused.reason
    assert admit_one(rack, components=(two,), queue=True).status == "waiting"
    assert admit_one(rack, types=("UMS",), queue=True).status == "pending"


@pytest.mark.parametrize(("after", "state"), [(0 * SECOND, "rejected"), (SECOND, "submitted")])
def test_a_waiting_task_past_its_deadline_neither_blocks_nor_fills(after, state, settings):
    """F-262, F-307: strictly after; before anybody has swept."""
    settings.FLOWSCHED_MAX_WAITING_PER_RACK = 1
    rack = make_rack(Compute=2)
    first = admit_one(rack)
    waiting = admit_one(rack, queue=True, queue_timeout=SECOND)
    (full,) = admit(sub(rack, queue=True), now=waiting.queue_expires_at + after)
    assert full.state == state
    Task.objects.filter(id=first.id).update(status="completed", finished_at=NOW)
    if state == "rejected":
        assert admit(sub(rack), now=waiting.queue_expires_at)[0].state == "rejected"


def test_operation_code_is_never_distinguished():
    """F-260: power on against power on of one component is a conflict like any other."""
    rack = make_rack()
    admit_one(rack, "power_on")
    for kind in ("power_on", "power_off", "power_reset"):
        assert admit(sub(rack, kind))[0].reason_code == "rack_busy"


def test_compatible_tasks_share_a_rack(engine):
    """F-259."""
    rack = make_rack()
    one, two = parts(rack)
    tasks = [admit_one(rack, components=(one,)), admit_one(rack, components=(two,))]
    assert engine.ids == [t.id for t in tasks]


def test_a_running_task_whose_outcome_is_unknown_blocks_and_is_named_in_every_refusal():
    """D-16: also in a refusal that another task causes, and in a full queue."""
    rack = make_rack(Compute=2, UMS=1)
    one, two = parts(rack)
    lost = admit_one(rack, components=(one,))
    start_run(lost, state="unknown")
    (refused,) = admit(sub(rack, components=(one,)))
    assert refused.reason == (
        f"rack r01 is busy: power reset (task {lost.id}) has an unknown outcome: acknowledge it as completed or failed"
    )
    other = admit_one(rack, components=(two,))
    (refused,) = admit(sub(rack, components=(two,)))
    assert f"(task {other.id}) is pending" in refused.reason
    assert f"Outcome unknown of task {lost.id}" in refused.reason
    outcomes = admit(*(sub(rack, queue=True) for _ in range(6)))
    assert f"Outcome unknown of task {lost.id}" in outcomes[5].reason


def test_the_same_rack_twice_in_one_call_is_decided_in_order():
    """F-304 within one call: earlier ones count."""
    rack = make_rack()
    one, two = parts(rack)
    outcomes = admit(
        sub(rack, components=(one,)),
        sub(rack, components=(one, two), queue=True),
        sub(rack, components=(two,)),
        sub(rack, components=(two,), queue=True),
    )
    assert [o.reason_code for o in outcomes] == ["", "", "rack_busy", ""]
    assert str(outcomes[1].task_id) in outcomes[2].reason
    rows = Task.objects.order_by("created_at")
    assert [t.id for t in rows] == [outcomes[0].task_id, outcomes[1].task_id, outcomes[3].task_id]
    assert [t.status for t in rows] == ["pending", "waiting", "waiting"]


def test_order_is_the_order_given_and_a_late_caller_does_not_slip_in_front():
    """F-262: a caller whose `now` is older than the queue still stands at its end."""
    rack = make_rack()
    admit_one(rack)
    second = admit_one(rack, queue=True, now=NOW + 5 * SECOND)
    late = admit_one(rack, queue=True, now=NOW + SECOND)
    assert late.created_at > second.created_at


def test_a_known_key_gives_the_task_it_made(engine):
    """F-250: also when that task is itself what makes the rack busy, when it has ended, or when the rack is gone."""
    rack = make_rack()
    asked = sub(rack)
    (first,) = admit(asked)
    assert admit(asked) == [first]
    assert admit(asked, asked, sub(rack))[:2] == [first, first]
    Task.objects.update(status="completed", finished_at=NOW)
    assert admit(asked) == [first]
    admit_one(rack)
    assert admit(asked) == [first]
    Rack.objects.update(deleted_at=NOW)
    assert admit(asked) == [first]
    assert Task.objects.count() == 2
    assert len(engine.ids) == 2


def test_a_key_twice_in_one_call_makes_one_task(engine):
    """F-250."""
    asked = sub(make_rack())
    one, two = admit(asked, asked)
    assert one == two
    assert engine.ids == [one.task_id]


def test_a_key_repeated_in_one_call_never_names_a_task_that_was_not_made(monkeypatch):
    """F-250: the repeat shares the fate of the first, whatever the INSERT makes of it."""
    monkeypatch.setattr("tasks.admission.tasks_insert", lambda rows, now: set())
    asked = sub(make_rack())
    one, two = admit(asked, asked)
    assert one == two
    assert (one.state, one.reason_code, one.task_id) == ("failed", "inventory_changed", None)


@pytest.mark.parametrize("busy", [False, True])
def test_a_key_is_bound_to_its_rack(busy):
    """F-250, last sentence."""
    rack, other = make_rack(), make_rack("r02")
    task = admit_one(rack)
    if busy:
        admit_one(other)
    (outcome,) = admit(sub(other, key=task.idempotency_key))
    assert (outcome.state, outcome.reason_code) == ("failed", "key_taken")
    assert str(task.id) in outcome.reason


def test_outcomes_come_in_the_order_given():
    racks = [make_rack(f"r{n:02}") for n in range(12)]
    Rack.objects.filter(id=racks[3].id).update(deleted_at=NOW)
    admit_one(racks[5])
    asked = [sub(rack) for rack in reversed(racks)]
    outcomes = admit(*asked)
    assert [o.key for o in outcomes] == [s.key for s in asked]
    assert [o.state for o in outcomes].count("submitted") == 10


def test_it_runs_inside_the_callers_transaction_only():
    rack = make_rack()
    with transaction.atomic():
        tasks_admit([sub(rack)], now=NOW)
        transaction.set_rollback(True)
    assert not Task.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_outside_a_transaction_it_refuses():
    """The lock would be gone before the decision."""
    with pytest.raises(TransactionManagementError):
        tasks_admit([sub(make_rack())], now=NOW)


def test_limits_of_one_call():
    with pytest.raises(ValueError, match="at most 250"):
        admit(*[sub(Rack(id=uuid4(), name="x"))] * 251)
    assert admit() == []


@pytest.mark.parametrize("count", [1, 40])
def test_statements_do_not_grow_with_the_batch(count):
    """Gate, lock, active tasks, INSERT (and the engine's one); where racks are busy known keys and components too."""
    racks = [make_rack(f"r{n}") for n in range(count)]
    assert len(statements(lambda: admit(*(sub(rack) for rack in racks)))) == 4
    assert len(statements(lambda: admit(*(sub(rack, queue=True) for rack in racks)))) == 6
    assert len(statements(lambda: admit(*(sub(rack) for rack in racks)))) == 5


def test_text_that_needs_quoting_survives():
    """Names with quotes, braces, commas and backslashes go through the arrays unharmed."""
    nasty = "a\"b\\{c},NULL '; --"
    rack = make_rack(nasty)
    task = admit_one(rack, description=nasty, schedule_name=nasty, information={"x": nasty})
    assert (task.rack_name, task.description, task.schedule_name) == (nasty, nasty, nasty)
    assert json.loads(json.dumps(task.information)) == {"x": nasty}
