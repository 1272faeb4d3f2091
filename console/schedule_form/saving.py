"""From the form to one call of one service: only what was changed in it is written."""

from __future__ import annotations

from datetime import datetime

from console.schedule_form.call_reading import inputs_of, is_of_call
from console.schedule_form.form import Form
from console.schedule_form.picks import FIELD, picks_same
from console.schedule_form.preview import check_racks, same_grace, same_timing
from console.schedule_form.reading import Reading, reading_of
from console.schedule_form.typed import CALENDAR, EVERY
from flowsched.actor import Actor
from flowsched.errors import FlowschedError, InvalidInput
from inventory.targets import PickedTarget
from schedules.changes import UNSET, ScheduleChanges
from schedules.models import TaskSchedule
from schedules.services import schedule_create
from scopes.services import schedule_change

# The service's field -> the form's input; `spec` and `timezone` depend on the kind of timing.
_INPUTS = {
    "overlap_policy": "overlap",
    "misfire_grace": "grace_number",
    "target_spec": FIELD,
    "component_filter": FIELD,
}


def checked(form: Form) -> Reading:
    """Read the form as it was sent to be saved; its errors are all that keeps it from being."""
    reading = reading_of(form.typed, form.call, form.usable, with_operation=form.schedule is None)
    check_racks(form, reading)
    return reading


def racks_changed(form: Form) -> bool:
    """Whether other racks or components are picked than when the form was opened."""
    return not picks_same(form.picks, form.opened_picks)


def form_create(form: Form, reading: Reading, *, by: Actor, now: datetime) -> TaskSchedule:
    """Create the schedule. The same form sent twice creates one. Raises what schedule_create does."""
    timing = reading.timing
    if timing is None:
        raise InvalidInput("say when it runs", field="kind")
    return schedule_create(
        name=form.typed.name,
        spec_type=timing.spec.spec_type,
        spec=timing.spec.spec,
        timezone=timing.spec.timezone,
        operation=reading.operation,
        overlap_policy=form.typed.overlap,
        misfire_grace=reading.grace,
        targets=_targets(form),
        by=by,
        now=now,
        request_id=form.nonce,
    )


def form_change(form: Form, reading: Reading, *, by: Actor, now: datetime) -> TaskSchedule | None:
    """Write what was changed in the form; None if nothing was. Raises what schedule_change does."""
    assert form.schedule is not None
    changes = _changes(form, reading)
    targets = _targets(form) if racks_changed(form) else None
    if changes.empty and targets is None:
        return None
    return schedule_change(
        schedule_id=form.schedule.pk, changes=changes, targets=targets, by=by, now=now, expected_version=form.version
    )  # fmt: skip


def refusal_inputs(error: FlowschedError, form: Form) -> dict[str, str]:
    """The inputs on which a refusal is said; the empty one is the whole form."""
    places = list(getattr(error, "fields", ())) or [error.field]
    if all(is_of_call(place) for place in places):
        return inputs_of(error)
    return {_input(error, form): error.message}


def _input(error: FlowschedError, form: Form) -> str:
    if error.reason == "CONSUMED" or error.field == "spec":
        if form.typed.kind == EVERY:
            return "every_text" if form.typed.every_text else "every_number"
        return "cron" if form.typed.kind == CALENDAR else "once_date"
    if error.field == "timezone":
        return "timezone" if form.typed.kind == CALENDAR else "once_zone"
    return _INPUTS.get(error.field, error.field)


def _changes(form: Form, reading: Reading) -> ScheduleChanges:
    typed, opened, timing = form.typed, form.opened, reading.timing
    moved = timing is not None and not same_timing(timing, opened)
    return ScheduleChanges(
        name=typed.name if typed.name != opened.name else UNSET,
        overlap_policy=typed.overlap if typed.overlap != opened.overlap else UNSET,
        spec_type=timing.spec.spec_type if timing is not None and moved else UNSET,
        spec=timing.spec.spec if timing is not None and moved else UNSET,
        timezone=timing.spec.timezone if timing is not None and moved and typed.kind != EVERY else UNSET,
        misfire_grace=reading.grace if not same_grace(reading.grace, opened) else UNSET,
    )


def _targets(form: Form) -> list[PickedTarget]:
    return [pick.target for pick in form.picks.values()]
