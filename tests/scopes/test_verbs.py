"""Adding, reconciling, removing and listing scopes: F-157 to F-163, F-216."""

import uuid
from datetime import timedelta

import pytest

from audit.models import AuditEntry
from flowsched.errors import InvalidInput, NotFound, PreconditionFailed, VersionMismatch
from inventory.targets import ComponentTarget, RackTarget
from schedules.models import TaskSchedule
from scopes.models import TaskScheduleScope
from scopes.selectors import scope_get, scopes_of
from scopes.services import scope_remove, scopes_add, scopes_reconcile
from tasks.models import Task
from tests.schedules.helpers import (
    BOB,
    NOW,
    columns,
    last_audit,
    make_component,
    make_racks,
    make_schedule,
    of_types,
    statements,
    whole,
)

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(minutes=7)


def add(schedule, targets, **more):
    return scopes_add(schedule_id=schedule.pk, targets=targets, by=BOB, now=LATER, **more)


def reconcile(schedule, targets, **more):
    return scopes_reconcile(schedule_id=schedule.pk, targets=targets, by=BOB, now=LATER, **more)


def remove(scope, **more):
    scope_remove(scope_id=scope.pk, by=BOB, now=LATER, **more)


def stored(schedule):
    rows = TaskScheduleScope.objects.filter(schedule=schedule).order_by("position", "id")
    return [(row.rack_id, row.component_filter) for row in rows]


def types(*names):
    return {"kind": "types", "types": list(names)}


def with_last_task(scope):
    task = Task.objects.create(
        type="power_control", code="power_on", executor_type="simulated", lane=scope.rack_id, status="running"
    )
    TaskScheduleScope.objects.filter(pk=scope.pk).update(last_task=task, skip_streak=3)
    return task


def test_f157_order_of_what_is_wrong():
    """F-157: the schedule before the targets; their shape and whether they are there before the merge."""
    missing = TaskSchedule(id=uuid.uuid4())
    for verb in (add, reconcile):
        with pytest.raises(NotFound, match="no schedule"):
            verb(missing, [])
    rack = make_racks(1)[0]
    schedule = make_schedule(targets=of_types(rack, "compute"))
    part = make_component(rack)
    for verb in (add, reconcile):
        with pytest.raises(InvalidInput) as refused:
            verb(schedule, [])
        assert refused.value.field == "target_spec"
    with pytest.raises(NotFound, match="no component"):
        add(schedule, [ComponentTarget(id=part.pk), ComponentTarget(id=uuid.uuid4())])
    with pytest.raises(PreconditionFailed):
        add(schedule, [ComponentTarget(id=part.pk)])


def test_f157_the_row_is_locked_before_the_scopes_are_read():
    """F-157."""
    schedule, rack = make_schedule(), make_racks(1)[0]
    for verb in (add, reconcile):
        with statements() as found:
            verb(schedule, whole(rack))
        [lock] = [i for i, sql in enumerate(found) if 'FROM "task_schedule"' in sql and "FOR NO KEY UPDATE" in sql]
        reads = [i for i, sql in enumerate(found) if "task_schedule_scope" in sql]
        assert lock < min(reads)
    scope = scopes_of(add(schedule, whole(*make_racks(1))).scopes[0].schedule_id)[0]
    with statements() as found:
        remove(scope)
    [lock] = [i for i, sql in enumerate(found) if 'FROM "task_schedule"' in sql and "FOR NO KEY UPDATE" in sql]
    assert lock == 1, "the only read before the lock finds the schedule"


def test_f158_new_racks_in_request_order_then_grown_ones_and_no_others():
    """F-158."""
    first, grown, same, swallowed, new, newer = make_racks(6)
    schedule = make_schedule(
        targets=[*whole(first), *of_types(grown, "compute"), *of_types(same, "compute"), *of_types(swallowed, "cdu")]
    )
    result = add(
        schedule,
        [
            *of_types(grown, "powershelf"), *whole(newer), *of_types(same, "compute"), *of_types(first, "cdu"),
            *whole(swallowed), *of_types(new, "ums"),
        ],
    )  # fmt: skip
    assert [row.rack_id for row in result.created] == [newer.pk, new.pk]
    assert [row.rack_id for row in result.updated] == [grown.pk, swallowed.pk]
    assert result.scopes == [*result.created, *result.updated]
    assert stored(schedule) == [
        (first.pk, None),
        (grown.pk, types("Compute", "PowerShelf")),
        (same.pk, types("Compute")),
        (swallowed.pk, None),
        (newer.pk, None),
        (new.pk, types("UMS")),
    ]
    assert [row.component_filter for row in result.scopes] == [
        None, types("UMS"), types("Compute", "PowerShelf"), None,
    ]  # fmt: skip


def test_f158_nothing_new_is_an_empty_answer_and_no_change(withdrawals):
    """F-158."""
    rack = make_racks(1)[0]
    schedule = make_schedule(targets=whole(rack))
    before, rows = columns(schedule), AuditEntry.objects.count()
    assert add(schedule, of_types(rack, "compute")).scopes == []
    assert columns(schedule) == before
    assert AuditEntry.objects.count() == rows
    assert withdrawals == []


def test_f159_f212_a_rack_that_cannot_be_merged_undoes_all(withdrawals):
    """F-159, F-212."""
    clash, other, new = make_racks(3)
    schedule = make_schedule(targets=[*of_types(clash, "compute"), *of_types(other, "compute")])
    part, moved = make_component(clash), make_component(new)
    before = stored(schedule), columns(schedule)
    with pytest.raises(PreconditionFailed, match=clash.name) as refused:
        add(schedule, [ComponentTarget(id=moved.pk), ComponentTarget(id=part.pk)])
    assert refused.value.reason == "FILTER_KIND"
    assert (stored(schedule), columns(schedule)) == before
    assert withdrawals == []
    entry = last_audit()
    assert (entry.verb, entry.object_name, entry.refused) == ("scope.add", schedule.name, refused.value.message)


def test_f211_components_of_a_rack_are_united():
    """F-211."""
    rack = make_racks(1)[0]
    one, two = make_component(rack), make_component(rack)
    schedule = make_schedule(targets=[ComponentTarget(id=two.pk)])
    [row] = add(schedule, [ComponentTarget(id=one.pk), ComponentTarget(id=two.pk)]).updated
    assert row.component_filter == {"kind": "components", "components": [str(two.pk), str(one.pk)]}


def test_f213_f311_new_positions_follow_the_last():
    """F-213, F-311."""
    schedule = make_schedule(racks=2)
    remove(scopes_of(schedule.pk)[0])
    racks = make_racks(3)
    add(schedule, whole(*reversed(racks)))
    assert [row.position for row in scopes_of(schedule.pk)] == [1, 2, 3, 4]
    assert [row.rack_id for row in scopes_of(schedule.pk)][1:] == [rack.pk for rack in reversed(racks)]


def test_f160_f214_f216_reconcile_answers_with_all_scopes_and_counts(withdrawals):
    """F-160, F-214, F-216."""
    kept, replaced, gone, new = make_racks(4)
    schedule = make_schedule(
        targets=[*of_types(gone, "cdu"), *of_types(kept, "compute", "ums"), *of_types(replaced, "compute")]
    )
    before = {row.rack_id: row for row in scopes_of(schedule.pk)}
    tasks = {row.rack_id: with_last_task(row) for row in before.values()}
    result = reconcile(schedule, [*whole(new), *of_types(replaced, "cdu"), *of_types(kept, "ums", "compute")])
    assert (result.added, result.removed, result.updated) == (1, 1, 1)
    assert [row.rack_id for row in result.scopes] == [kept.pk, replaced.pk, new.pk]
    assert stored(schedule) == [
        (kept.pk, types("Compute", "UMS")),
        (replaced.pk, types("CDU")),
        (new.pk, None),
    ]
    for row in result.scopes[:2]:
        old = before[row.rack_id]
        assert (row.pk, row.created_at, row.position) == (old.pk, old.created_at, old.position)
        assert row.last_task_id == tasks[row.rack_id].pk
        assert row.skip_streak == 3
    assert withdrawals == [
        (schedule.pk, {before[replaced.pk].pk}, "scope_changed"),
        (schedule.pk, {before[gone.pk].pk}, "scope_removed"),
    ]


def test_f160_a_rack_that_left_and_came_back_remembers_nothing():
    """F-160."""
    rack, other = make_racks(2)
    schedule = make_schedule(targets=whole(rack))
    old = scopes_of(schedule.pk)[0]
    with_last_task(old)
    reconcile(schedule, whole(other))
    [row] = reconcile(schedule, whole(rack)).scopes
    assert row.pk != old.pk
    assert (row.last_task_id, row.skip_streak) == (None, 0)


def test_f209_f160_growing_keeps_id_created_at_and_last_task():
    """F-209, F-160."""
    rack = make_racks(1)[0]
    schedule = make_schedule(targets=of_types(rack, "compute"))
    old = scopes_of(schedule.pk)[0]
    task = with_last_task(old)
    [row] = add(schedule, whole(rack)).updated
    assert (row.pk, row.created_at, row.last_task_id) == (old.pk, old.created_at, task.pk)
    assert row.component_filter is None


def test_whole_rack_is_sql_null():
    rack = make_racks(1)[0]
    schedule = make_schedule(targets=of_types(rack, "compute"))
    add(schedule, whole(rack))
    assert TaskScheduleScope.objects.filter(schedule=schedule, component_filter__isnull=True).count() == 1


def test_f214_any_kind_may_replace_any_kind():
    """F-214."""
    rack = make_racks(1)[0]
    part = make_component(rack)
    schedule = make_schedule(targets=of_types(rack, "compute"))
    for targets in ([ComponentTarget(id=part.pk)], whole(rack), of_types(rack, "cdu")):
        assert reconcile(schedule, targets).updated == 1


def test_f215_reconciling_to_what_is_there_changes_nothing(withdrawals):
    """F-215, F-312: order, duplicates and old spellings are no difference."""
    rack = make_racks(1)[0]
    schedule = make_schedule(targets=of_types(rack, "compute", "nvswitch"))
    TaskScheduleScope.objects.update(component_filter=types("NVLSwitch", "Compute", "compute"))
    before, rows = columns(schedule), AuditEntry.objects.count()
    result = reconcile(schedule, of_types(rack, "NVSwitch", "compute"))
    assert (result.added, result.removed, result.updated, len(result.scopes)) == (0, 0, 0, 1)
    assert columns(schedule) == before
    assert AuditEntry.objects.count() == rows
    assert withdrawals == []


def test_f161_d19_emptying_is_refused():
    """F-161, D-19."""
    schedule = make_schedule()
    with pytest.raises(InvalidInput):
        reconcile(schedule, [])
    assert len(stored(schedule)) == 1


def test_f162_remove_takes_one_row_and_leaves_its_task(withdrawals):
    """F-162."""
    schedule = make_schedule(racks=3)
    first, second, third = scopes_of(schedule.pk)
    task = with_last_task(second)
    remove(second)
    assert [row.pk for row in scopes_of(schedule.pk)] == [first.pk, third.pk]
    task.refresh_from_db()
    assert task.status == "running"
    assert withdrawals == [(schedule.pk, {second.pk}, "scope_removed")]
    entry = last_audit()
    assert (entry.verb, entry.object_kind, entry.object_id) == ("scope.remove", "schedule", str(schedule.pk))
    assert entry.after == {"version": 2, "withdrawn": 2, "removed": [second.rack.name]}


def test_f162_the_last_scope_cannot_be_removed():
    """F-162."""
    schedule = make_schedule("nightly")
    before = columns(schedule)
    with pytest.raises(PreconditionFailed, match="delete the schedule instead") as refused:
        remove(scopes_of(schedule.pk)[0])
    assert refused.value.reason == "LAST_SCOPE"
    assert "'nightly'" in refused.value.message
    assert len(stored(schedule)) == 1
    assert columns(schedule) == before


def test_f162_an_unknown_scope_is_not_found():
    """F-162."""
    with pytest.raises(NotFound):
        remove(TaskScheduleScope(id=uuid.uuid4()))
    assert last_audit().refused


def test_f163_scopes_in_order_an_empty_schedule_and_an_unknown_one():
    """F-163."""
    schedule = make_schedule(racks=3)
    with statements() as found:
        rows = scopes_of(schedule.pk)
        assert [row.rack.name for row in rows] == sorted(row.rack.name for row in rows)
    assert len(found) == 1
    TaskScheduleScope.objects.filter(schedule=schedule).delete()
    assert scopes_of(schedule.pk) == []
    with pytest.raises(NotFound, match="no schedule"):
        scopes_of(uuid.uuid4())


def test_f163_scopes_with_the_same_position_are_in_the_order_of_their_ids():
    """F-163."""
    schedule = make_schedule(racks=4)
    TaskScheduleScope.objects.update(position=0)
    ids = [row.pk for row in scopes_of(schedule.pk)]
    assert ids == sorted(ids)


def test_one_scope_by_id():
    schedule = make_schedule()
    scope = scopes_of(schedule.pk)[0]
    assert scope_get(scope.pk).schedule == schedule
    with pytest.raises(NotFound):
        scope_get(uuid.uuid4())


def test_d1_racks_and_the_row_without_a_rack_never_both(withdrawals):
    """D-1."""
    schedule, rack = make_schedule(), make_racks(1)[0]
    TaskScheduleScope.objects.filter(schedule=schedule).update(rack=None)
    with pytest.raises(PreconditionFailed) as refused:
        add(schedule, whole(rack))
    assert refused.value.reason == "RACKLESS"
    with pytest.raises(PreconditionFailed):
        remove(scopes_of(schedule.pk)[0])
    result = reconcile(schedule, whole(rack))
    assert (result.added, result.removed) == (1, 1)
    assert stored(schedule) == [(rack.pk, None)]


@pytest.mark.parametrize("verb", [add, reconcile])
def test_d30_scopes_are_limited(settings, verb):
    """D-30."""
    schedule = make_schedule(racks=2)
    settings.FLOWSCHED_MAX_SCOPES_PER_SCHEDULE = 3
    before = stored(schedule)
    with pytest.raises(InvalidInput) as refused:
        verb(schedule, whole(*make_racks(2 if verb is add else 4)))
    assert refused.value.field == "target_spec"
    assert stored(schedule) == before
    verb(schedule, whole(*make_racks(1 if verb is add else 3)))
    assert len(stored(schedule)) == 3


def test_d30_a_filter_cannot_grow_beyond_a_rack(settings):
    """D-30."""
    rack = make_racks(1)[0]
    parts = [make_component(rack) for _ in range(3)]
    schedule = make_schedule(targets=[ComponentTarget(id=part.pk) for part in parts[:2]])
    settings.FLOWSCHED_MAX_COMPONENTS_PER_RACK = 2
    with pytest.raises(InvalidInput) as refused:
        add(schedule, [ComponentTarget(id=parts[2].pk)])
    assert refused.value.reason == "TOO_MANY_COMPONENTS"


def test_scope_verbs_count_up_the_version_and_leave_timing_alone():
    schedule = make_schedule(racks=2)
    before = columns(schedule)
    add(schedule, whole(*make_racks(1)))
    reconcile(schedule, [RackTarget(id=rack) for rack, _ in stored(schedule)][:2])
    remove(scopes_of(schedule.pk)[0])
    after = columns(schedule)
    assert {name for name in after if after[name] != before[name]} == {"version", "updated_at"}
    assert (after["version"], after["updated_at"]) == (4, LATER)


@pytest.mark.parametrize("verb", [add, reconcile])
def test_a_version_that_is_not_the_rows_is_refused(verb):
    schedule = make_schedule(racks=2)
    before = stored(schedule)
    with pytest.raises(VersionMismatch):
        verb(schedule, whole(*make_racks(1)), expected_version=9)
    with pytest.raises(VersionMismatch):
        remove(scopes_of(schedule.pk)[0], expected_version=9)
    assert stored(schedule) == before


def test_f319_the_audit_row_names_the_racks_before_and_after():
    """F-319."""
    grown, gone, new = make_racks(3)
    schedule = make_schedule("nightly", targets=[*of_types(grown, "compute"), *whole(gone)])
    reconcile(schedule, [*of_types(grown, "cdu"), *whole(new)])
    entry = last_audit()
    assert (entry.actor, entry.verb, entry.object_name) == ("bob", "scope.reconcile", "nightly")
    assert entry.before == {"version": 1, "changed": {grown.name: types("Compute")}, "removed": {gone.name: None}}
    assert entry.after == {
        "version": 2,
        "withdrawn": 0,
        "added": {new.name: None},
        "changed": {grown.name: types("CDU")},
        "removed": [gone.name],
    }


def test_scopes_of_other_schedules_are_left_alone():
    rack, other = make_racks(2)
    schedule, bystander = make_schedule(targets=whole(rack)), make_schedule(targets=of_types(rack, "compute"))
    before = stored(bystander), columns(bystander)
    reconcile(schedule, whole(other))
    add(schedule, of_types(rack, "cdu"))
    assert (stored(bystander), columns(bystander)) == before
