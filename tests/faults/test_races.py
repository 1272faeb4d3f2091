"""Every verb against a firing under way, the dispatcher held at each boundary of the three phases by a fault point.

What has to hold is proven by rows, not by waiting: the tasks of the older tick that a session sees right after the
verb returned are all that there ever are.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from audit import services as audit
from dispatcher import claim, firing, submit, writeback
from dispatcher.models import Firing, FiringScope
from flowsched import clock
from flowsched.errors import FlowschedError, InvalidInput, NotFound
from inventory.models import Rack
from inventory.targets import RackTarget
from schedules.changes import ScheduleChanges, schedule_update
from schedules.models import TaskSchedule
from schedules.services import schedule_delete, schedule_pause, schedule_resume
from scopes.models import TaskScheduleScope
from scopes.services import scope_remove, scopes_add, scopes_reconcile
from tasks.models import Task
from tests.dispatcher.helpers import BY, due_schedule, holder, in_thread, racks
from tests.faults.harness import query, wait_for
from tests.faults.invariants import broken
from tests.faults.oracles import Recurrence, every, firings_of, ticks_judged

pytestmark = pytest.mark.django_db(transaction=True)

PATIENCE = 30
HOUR = timedelta(hours=1)
POINTS = (
    "claim.after_lock",
    "claim.before_commit",
    "fire.after_claim",
    "submit.after_read",
    "submit.before_outcome",
    "submit.before_commit",
    "submit.between_chunks",
    "writeback.before",
)


class Turnstile:
    """Holds the first thread that passes one fault point until it is opened."""

    def __init__(self, monkeypatch, point: str) -> None:
        self.point = point
        self.reached, self.opened = threading.Event(), threading.Event()
        for module in (claim, firing, submit, writeback, audit):
            monkeypatch.setattr(module, "fault", self._pass)

    def _pass(self, name: str) -> None:
        if name == self.point and not self.reached.is_set():
            self.reached.set()
            assert self.opened.wait(PATIENCE)


@contextmanager
def firing_held(monkeypatch, point: str) -> Iterator[Turnstile]:
    """A dispatcher in a thread that stands at `point` with a due schedule in hand; finished when the block ends."""
    turnstile = Turnstile(monkeypatch, point)
    errors: list[Exception] = []
    now = clock.now()

    def fire() -> None:
        try:
            firing.fire_due(now, 100, holder=holder())
        except Exception as error:  # noqa: BLE001 - the test asks what it was
            errors.append(error)

    dispatcher = in_thread(fire)
    try:
        assert turnstile.reached.wait(PATIENCE), f"{point} was not reached"
        yield turnstile
    finally:
        turnstile.opened.set()
        dispatcher.join(PATIENCE)
    assert errors == []


def do_while_held(turnstile: Turnstile, verb: Callable[[], Any]) -> tuple[set[Any], Any]:
    """Call the verb; open the turnstile once it waits for a lock of the dispatcher's. Tasks seen when it returned."""
    seen: list[Any] = []

    def run() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '30s'")
        try:
            answer = verb()
        except FlowschedError as error:
            answer = error
        seen.extend([set(Task.objects.values_list("id", flat=True)), answer])

    thread = in_thread(run)
    wait_for(lambda: seen or blocked(), PATIENCE, "the verb has returned or waits for the dispatcher")
    turnstile.opened.set()
    thread.join(PATIENCE)
    assert seen, "the verb did not return"
    return seen[0], seen[1]


def blocked() -> bool:
    return bool(query("SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"))


def tick(on: list[Rack]) -> tuple[TaskSchedule, Recurrence]:
    now = clock.now()
    row = due_schedule(f"s {uuid.uuid4()}", on, now=now)
    return row, Recurrence(row.next_run_at, every(HOUR), since=now)


def one_automatic_firing(row: TaskSchedule, recurrence: Recurrence) -> None:
    """The tick was fired once, everything is closed, and the recurrence is where the reference says."""
    firings = firings_of(row.id)
    assert [one.due_at for one in firings if one.cause == "automatic"] == [recurrence.first]
    assert all(one.state == "done" for one in firings)
    assert ticks_judged(recurrence, firings, until=clock.now(), allowance=HOUR) == []
    assert broken() == {}


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("verb", ["pause", "delete", "remove", "narrow"])
def test_after_a_withdrawing_verb_returned_no_task_of_an_older_tick_appears(monkeypatch, point, verb):
    """F-310, D-11, X-37: either before or after, never half; what is not submitted says why."""
    on = racks(3)
    row, recurrence = tick(on)
    first = TaskScheduleScope.objects.get(schedule=row, rack=on[0])
    narrow = RackTarget(id=on[0].id, component_types=("compute",))
    verbs: dict[str, Callable[[], Any]] = {
        "pause": lambda: schedule_pause(schedule_id=row.id, reason="chiller work", by=BY, now=clock.now()),
        "delete": lambda: schedule_delete(schedule_id=row.id, by=BY, now=clock.now()),
        "remove": lambda: scope_remove(scope_id=first.id, by=BY, now=clock.now()),
        "narrow": lambda: scopes_reconcile(
            schedule_id=row.id, targets=[narrow, *(RackTarget(id=rack.id) for rack in on[1:])], by=BY, now=clock.now()
        ),
    }
    with firing_held(monkeypatch, point) as turnstile:
        seen, answer = do_while_held(turnstile, verbs[verb])
    assert not isinstance(answer, FlowschedError), answer
    concerned = {rack.id for rack in (on if verb in {"pause", "delete"} else on[:1])}
    after = dict(Task.objects.values_list("id", "rack_id"))
    assert [task for task, rack in after.items() if rack in concerned and task not in seen] == []
    assert {rack.id for rack in on} - concerned <= set(after.values()), "a rack that nobody touched lost its task"
    skipped = FiringScope.objects.filter(state="skipped")
    assert Task.objects.count() + skipped.count() == 3
    one_automatic_firing(row, recurrence)
    stays = TaskScheduleScope.objects.filter(schedule_id=row.id).count()
    assert stays == {"pause": 3, "delete": 0, "remove": 2, "narrow": 3}[verb]


@pytest.mark.parametrize("point", POINTS)
def test_edits_are_not_lost_and_do_not_change_the_firing_in_hand(monkeypatch, point):
    """X-36: name, overlap and timing at once; the firing keeps what it copied, the schedule keeps what was typed."""
    on = racks(2)
    row, recurrence = tick(on)
    edited: list[Any] = []

    def edit() -> None:
        edited.append(clock.now())
        changes = ScheduleChanges(name=f"new {row.id}", overlap_policy="queue", spec="3h")
        schedule_update(schedule_id=row.id, changes=changes, by=BY, now=edited[0], expected_version=row.version)

    with firing_held(monkeypatch, point) as turnstile:
        _, answer = do_while_held(turnstile, edit)
    assert answer is None
    now = TaskSchedule.objects.get(id=row.id)
    assert (now.name, now.overlap_policy, now.spec, now.version) == (f"new {row.id}", "queue", "3h", row.version + 1)
    assert now.next_run_at == edited[0] + 3 * HOUR
    assert now.last_run_at is not None
    record = Firing.objects.get(schedule_id=row.id)
    assert (record.schedule_name, record.conflict_strategy) == (row.name, "reject")
    assert Task.objects.count() == 2
    assert (record.state, record.due_at) == ("done", recurrence.first)
    assert broken() == {}


@pytest.mark.parametrize("point", POINTS)
def test_a_rack_added_meanwhile_belongs_to_the_next_tick(monkeypatch, point):
    """X-37: the firing in hand has the scopes of its claim; what is added is neither lost nor fired early."""
    on = racks(3)
    row, recurrence = tick(on[:2])
    with firing_held(monkeypatch, point) as turnstile:
        _, answer = do_while_held(
            turnstile,
            lambda: scopes_add(schedule_id=row.id, targets=[RackTarget(id=on[2].id)], by=BY, now=clock.now()),
        )
    assert not isinstance(answer, FlowschedError)
    assert set(Task.objects.values_list("rack_id", flat=True)) == {rack.id for rack in on[:2]}
    assert TaskScheduleScope.objects.filter(schedule=row).count() == 3
    one_automatic_firing(row, recurrence)


@pytest.mark.parametrize("point", POINTS)
def test_a_trigger_beside_a_tick_fires_once_more_and_advances_once_more(monkeypatch, point):
    """X-38, D-10: the tick is fired once, the request once; a busy rack refuses one of them and says so."""
    on = racks(2)
    row, recurrence = tick(on)
    request = uuid.uuid4()
    with firing_held(monkeypatch, point) as turnstile:
        do_while_held(
            turnstile,
            lambda: firing.trigger(schedule_id=row.id, by=BY, now=clock.now(), request_id=request),
        )
    assert Firing.objects.filter(key=request, cause="manual").count() == 1
    assert Firing.objects.count() == 2
    assert sorted(Task.objects.values_list("rack_id", flat=True)) == sorted(rack.id for rack in on)
    one_automatic_firing(row, recurrence)


@pytest.mark.parametrize("verb", ["pause", "delete", "update", "remove", "trigger"])
def test_a_due_schedule_that_a_verb_holds_is_passed_over_and_then_obeys_it(monkeypatch, verb):
    """X-36, X-38, D-11: the verb has written and not committed; the dispatcher neither waits nor fires it half."""
    on = racks(2)
    row, recurrence = tick(on)
    other, _ = tick(racks(1))
    first = TaskScheduleScope.objects.get(schedule=row, rack=on[0])
    verbs: dict[str, Callable[[], Any]] = {
        "pause": lambda: schedule_pause(schedule_id=row.id, reason="", by=BY, now=clock.now()),
        "delete": lambda: schedule_delete(schedule_id=row.id, by=BY, now=clock.now()),
        "update": lambda: schedule_update(
            schedule_id=row.id, changes=ScheduleChanges(spec="3h"), by=BY, now=clock.now()
        ),
        "remove": lambda: scope_remove(scope_id=first.id, by=BY, now=clock.now()),
        "trigger": lambda: firing.trigger(schedule_id=row.id, by=BY, now=clock.now()),
    }
    turnstile = Turnstile(monkeypatch, "verb.before_commit")
    held = in_thread(verbs[verb])
    assert turnstile.reached.wait(PATIENCE)
    assert firing.fire_due(clock.now(), 100, holder=holder()).claimed == 1
    assert Firing.objects.get().schedule_id == other.id
    turnstile.opened.set()
    held.join(PATIENCE)
    firing.fire_due(clock.now(), 100, holder=holder())
    firings = firings_of(row.id)
    assert [one.due_at for one in firings] == ([recurrence.first] if verb in {"remove", "trigger"} else [])
    fired_on = set(Task.objects.filter(schedule_id=row.id).values_list("rack_id", flat=True))
    assert fired_on == {"remove": {on[1].id}, "trigger": {rack.id for rack in on}}.get(verb, set())
    assert broken() == {}


def test_a_pause_and_resume_beside_a_tick_leaves_it_enabled_and_ahead(monkeypatch):
    """X-36: the pause takes back what was owed; the resume counts from its own time."""
    row, recurrence = tick(racks(1))
    with firing_held(monkeypatch, "fire.after_claim") as turnstile:
        schedule_pause(schedule_id=row.id, reason="", by=BY, now=clock.now())
        schedule_resume(schedule_id=row.id, by=BY, now=clock.now())
        turnstile.opened.set()
    row.refresh_from_db()
    assert row.enabled
    assert row.next_run_at > clock.now()
    assert not Task.objects.exists()
    assert [one.due_at for one in firings_of(row.id)] == [recurrence.first]
    assert broken() == {}


def test_one_request_sent_ten_times_at_once_is_one_firing_with_one_answer():
    """X-24, X-38: who comes second waits for the first and answers the same."""
    on = racks(3)
    row, _ = tick(on)
    TaskSchedule.objects.filter(id=row.id).update(next_run_at=clock.now() + HOUR)
    request = uuid.uuid4()
    barrier = threading.Barrier(10)
    answers: list[Any] = []

    def send() -> None:
        connection.ensure_connection()
        barrier.wait(PATIENCE)
        try:
            fired = firing.trigger(schedule_id=row.id, by=BY, now=clock.now(), request_id=request)
            answers.append((fired.firing.id, tuple(fired.task_ids)))
        except FlowschedError as error:
            answers.append(error)

    for thread in [in_thread(send) for _ in range(10)]:
        thread.join(PATIENCE)
    assert len(answers) == 10
    assert len(set(answers)) == 1, answers
    assert len(answers[0][1]) == 3
    assert Firing.objects.count() == 1
    assert broken() == {}


def test_a_repeat_while_the_first_request_is_at_work_is_no_refusal(monkeypatch, settings):
    """X-24: what is still pending has not been refused; the answer names the firing and says so."""
    settings.FLOWSCHED_LOCK_TIMEOUT = timedelta(milliseconds=10)
    row, _ = tick(racks(2))
    request = uuid.uuid4()
    turnstile = Turnstile(monkeypatch, "trigger.after_claim")
    first = in_thread(lambda: firing.trigger(schedule_id=row.id, by=BY, now=clock.now(), request_id=request))
    assert turnstile.reached.wait(PATIENCE)
    again = firing.trigger(schedule_id=row.id, by=BY, now=clock.now(), request_id=request)
    assert (again.task_ids, again.refusals, len(again.scopes)) == ([], [], 2)
    turnstile.opened.set()
    first.join(PATIENCE)
    assert Task.objects.count() == 2


def test_one_request_for_two_schedules_at_once_is_refused_for_one():
    """X-24: another body under a known id; the two hold different rows, so only the unique key sees it."""
    for _ in range(5):
        rows = [tick(racks(1))[0] for _ in range(2)]
        request, barrier = uuid.uuid4(), threading.Barrier(2)
        answers: list[Any] = []

        def send(row: TaskSchedule, request=request, barrier=barrier, answers=answers) -> None:
            connection.ensure_connection()
            barrier.wait(PATIENCE)
            try:
                answers.append(firing.trigger(schedule_id=row.id, by=BY, now=clock.now(), request_id=request))
            except Exception as error:  # noqa: BLE001 - the test asks what it was
                answers.append(error)

        for thread in [in_thread(lambda row=row: send(row)) for row in rows]:
            thread.join(PATIENCE)
        assert sorted(type(answer).__name__ for answer in answers) == ["InvalidInput", "Triggered"], answers
        refused = next(answer for answer in answers if isinstance(answer, InvalidInput))
        assert "was used for schedule" in refused.message
        assert Firing.objects.filter(key=request).count() == 1


def test_a_deleted_schedule_cannot_be_triggered_or_paused_any_more(monkeypatch):
    """X-37: the verb that waited for a delete finds nothing and says so."""
    row, _ = tick(racks(1))
    with firing_held(monkeypatch, "fire.after_claim"):
        schedule_delete(schedule_id=row.id, by=BY, now=clock.now())
        with pytest.raises(NotFound):
            firing.trigger(schedule_id=row.id, by=BY, now=clock.now())
        with pytest.raises(NotFound):
            schedule_pause(schedule_id=row.id, by=BY, now=clock.now())
    assert not Task.objects.exists()
