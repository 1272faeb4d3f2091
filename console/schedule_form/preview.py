"""What the schedule will do, before it is saved: when, on what, the next ten runs, whom it meets. Writes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID
from zoneinfo import ZoneInfo

from django.conf import settings

from console import moments
from console.call_shown import Sending, is_call, sending
from console.schedule_form.call_reading import inputs_of
from console.schedule_form.form import Form
from console.schedule_form.picks import FIELD
from console.schedule_form.racks import RackRow, Seen, rack_row
from console.schedule_form.reading import Reading, Timing, grace_of, reading_of, timing_of
from console.schedule_form.typed import Typed
from console.words import PARTS, parts
from flowsched.errors import InvalidInput, NotFound, PreconditionFailed
from inventory.components import ComponentType
from inventory.targets import ResolvedTarget
from schedules.models import TaskSchedule
from schedules.selectors import name_taken
from schedules.template import template_load
from schedules.upcoming import first_run, next_runs
from schedules.wording import either_day, timing_words
from scopes.dry_run import operation_dry_run
from scopes.forecast import Forecast, schedule_forecast, schedules_sharing
from tasks.operations import Operation, OperationType, disruptive, operation_label

RUNS: Final = 10
LISTED: Final = 50  # racks named in the preview
NAMED: Final = 5  # racks named in a warning
COMPUTE: Final = ComponentType.COMPUTE.value
NO_RACKS: Final = "A schedule needs at least one rack. Delete the schedule instead, or pause it."


@dataclass(frozen=True, slots=True)
class Run:
    """One of the next runs, and what a clock change does to it."""

    at: datetime
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Sharing:
    """Schedules that share racks and may not meet this one: what is known before its timing is."""

    names: list[str]
    more: bool


@dataclass(slots=True)
class Preview:
    """All that the panel says."""

    reading: Reading
    seen: Seen
    when: str = ""
    once: datetime | None = None
    zone: str = ""
    offset: str = ""
    operation: str = ""
    racks: int = 0
    components: int = 0
    rows: list[RackRow] = field(default_factory=list)
    more_rows: int = 0
    troubled: list[RackRow] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    moves_from: datetime | None = None
    is_call: bool = False
    sending: Sending | None = None
    forecast: Forecast | None = None
    sharing: Sharing | None = None

    @property
    def first(self) -> datetime | None:
        """The first run."""
        return self.runs[0].at if self.runs else None


def preview_of(form: Form, now: datetime) -> Preview:
    """Look at the form: at most nine queries for any number of racks."""
    row = form.schedule
    reading = reading_of(form.typed, form.call, form.usable, with_operation=row is None)
    if row is not None:
        reading.operation = operation_of(row)
    _check_name(form, reading)
    seen = Seen.of(list(form.picks.values()))
    shown = Preview(reading, seen)
    _racks(form, shown)
    if reading.operation is not None:
        label = operation_label(reading.operation.type, reading.operation.code, reading.operation.information)
        shown.operation = label[:1].upper() + label[1:]
    shown.warnings += _whole(form, shown)
    if reading.timing is not None:
        _timing(form, shown, reading.timing, now)
    _call(form, shown, now)
    _others(form, shown, now)
    return shown


def operation_of(row: TaskSchedule) -> Operation | None:
    """The operation of a schedule; None if it cannot be read."""
    try:
        template = template_load(row.operation_template)
    except InvalidInput:
        return None
    return Operation(template.type, template.code, template.information)


def same_timing(timing: Timing, opened: Typed) -> bool:
    """Whether the form says when it runs in the words it was opened with, or in others that are stored alike."""
    try:
        before = timing_of(opened)
    except InvalidInput:
        return False
    return before.stored == timing.stored


def same_grace(grace: timedelta | None, opened: Typed) -> bool:
    """Whether the form says how late it may run as it was opened."""
    try:
        return grace_of(opened) == grace
    except InvalidInput:
        return False


def _check_name(form: Form, reading: Reading) -> None:
    """A name that another schedule has is refused when it is saved: said before."""
    name = form.typed.name
    if "name" in reading.errors or (form.schedule is not None and form.schedule.name == name):
        return
    if name_taken(name, except_id=form.schedule.pk if form.schedule else None):
        reading.wrong["name"] = "another schedule has this name: choose another one"


def _racks(form: Form, shown: Preview) -> None:
    """How much it reaches, and what of it is in trouble."""
    picks = list(form.picks.values())
    shown.racks = len(picks)
    shown.components = sum(reach.reached for pick in picks if (reach := shown.seen.reach.get(pick.rack_id)))
    shown.rows = [rack_row(pick, shown.seen) for pick in picks[:LISTED]]
    shown.more_rows = max(0, len(picks) - LISTED)
    shown.troubled = [row for row in (rack_row(pick, shown.seen) for pick in picks) if row.trouble]
    check_racks(form, shown.reading)


def check_racks(form: Form, reading: Reading) -> None:
    """Whether there are racks, and not too many; what of each is reached is the service's to check."""
    count, most = len(form.picks), settings.FLOWSCHED_MAX_SCOPES_PER_SCHEDULE
    if FIELD in form.wrong:
        reading.wrong[FIELD] = form.wrong[FIELD]
    elif count > most:
        reading.wrong[FIELD] = (
            f"a schedule may have at most {most} racks, and this has {count}: split it into several schedules"
        )
    elif form.ticks_pending:
        reading.wrong[FIELD] = _pending(form)
    elif not count and not form.rackless and not (form.is_call and form.schedule is None):
        reading.missing[FIELD] = NO_RACKS if form.schedule else "add at least one rack"


def _pending(form: Form) -> str:
    """Ticks that nobody applied: saved as they are, the racks would be reached otherwise than the form seems to say."""
    ticked = [parts(name) for name in form.ticks if name in form.ticks_pending]
    unticked = [parts(name) for name in form.ticks_applied if name in form.ticks_pending]
    racks = f"the {len(form.picks)} racks"
    if ticked:
        are, it = ("is", "it") if len(ticked) == 1 else ("are", "them")
        return f"{' and '.join(ticked)} {are} ticked but not applied to {racks}: apply {it}, or untick {it}"
    return f"{' and '.join(unticked)} no longer ticked, but {racks} still reach them: apply that, or tick them again"


def _whole(form: Form, shown: Preview) -> Iterator[str]:
    """That a disruptive power operation reaches more of whole racks than what computes."""
    done = shown.reading.operation
    if done is None or done.type != OperationType.POWER or not disruptive(done.type, done.code):
        return
    whole = [pick for pick in form.picks.values() if pick.filter is None and shown.seen.live(pick)]
    present = {name for pick in whole for name in shown.seen.reach[pick.rack_id].present}
    too = " and ".join(parts(name) for name in PARTS if name in present and name != COMPUTE)
    if too:
        names = [shown.seen.names[pick.rack_id].name for pick in whole]
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        yield f"{', '.join(names[:NAMED])}{more}: whole rack, {too} too."


def _timing(form: Form, shown: Preview, timing: Timing, now: datetime) -> None:
    """The sentence and the runs."""
    spec = timing.spec
    shown.when = timing_words(spec.spec_type, spec.spec, spec.timezone)
    if spec.spec_type == "cron" and spec.step is None:
        shown.zone = spec.timezone
        shown.offset = moments.offset(now, ZoneInfo(spec.timezone)) if spec.timezone != "UTC" else ""
    try:
        if spec.spec_type == "one-time":
            shown.once = spec.first_run(now)
            shown.runs = [Run(shown.once)]
        else:
            first = first_run(spec, due=_due(form, timing), now=now)
            shown.runs = [Run(at, _mark(timing, at)) for at in next_runs(spec, first=first, most=RUNS)]
    except InvalidInput as error:
        shown.reading.wrong["cron" if spec.spec_type == "cron" else "every_number"] = error.message
    shown.warnings += _warnings(timing, shown.once, now)
    row = form.schedule
    if row is not None and row.next_run_at is not None and not same_timing(timing, form.opened):
        shown.moves_from = row.next_run_at


def _warnings(timing: Timing, once: datetime | None, now: datetime) -> Iterator[str]:
    if once is not None and once <= now:
        yield (
            f"This time is {moments.span(now - once)} ago. The schedule will run within "
            f"{moments.span(settings.FLOWSCHED_POLL_INTERVAL)} of saving."
        )
    if timing.note:
        yield timing.note
    if timing.spec.spec_type == "cron" and either_day(timing.spec.spec):
        yield "Day of month and weekday are both set: it runs when either matches."


def _mark(timing: Timing, at: datetime) -> str:
    change = timing.spec.clock_change(at)
    if change is None:
        return ""
    named = f"{change.named:%H:%M}"
    if change.skipped:
        runs = at.astimezone(ZoneInfo(timing.spec.timezone))
        return f"clocks go forward: {named} does not exist that day, runs at {runs:%H:%M}"
    return f"clocks go back: {named} comes twice that day, runs in the first pass"


def _call(form: Form, shown: Preview, now: datetime) -> None:
    """What would be sent for the first rack, or why nothing would be; nothing is sent, and no token is fetched."""
    operation = shown.reading.operation
    shown.is_call = form.is_call or (operation is not None and is_call(operation.type))
    if operation is None or not is_call(operation.type) or form.schedule is not None:
        return
    first = next((pick for pick in form.picks.values() if shown.seen.live(pick)), None)
    try:
        found = operation_dry_run(
            operation=operation, targets=[first.target] if first else [], name=form.typed.name, now=now
        )  # fmt: skip
    except (InvalidInput, NotFound, PreconditionFailed):
        return  # of its first rack, which the rack list says
    shown.sending = sending(found, shown.seen.names[first.rack_id].name if first else "")
    for name, why in inputs_of(InvalidInput(found.reason, fields=found.fields)).items() if found.fields else ():
        shown.reading.wrong.setdefault(name, why)


def _others(form: Form, shown: Preview, now: datetime) -> None:
    """Whom it meets; before its timing is known, only who shares its racks."""
    operation, timing = shown.reading.operation, shown.reading.timing
    targets = _targets(form, shown.seen)
    if operation is None or not targets or is_call(operation.type):  # a call conflicts with nothing
        return
    except_id = form.schedule.pk if form.schedule else None
    if timing is None or not shown.runs:
        rows, more = schedules_sharing(
            operation=operation, rack_ids=[t.rack_id for t in targets], exclude_schedule_id=except_id
        )
        shown.sharing = Sharing([row.name for row in rows], more)
        return
    shown.forecast = schedule_forecast(
        operation=operation, spec=timing.spec, targets=targets, now=now, due=_due(form, timing),
        exclude_schedule_id=except_id,
    )  # fmt: skip


def _due(form: Form, timing: Timing) -> datetime | None:
    """When a schedule that fires is due anyway; None where that is computed anew, as for a new one."""
    row = form.schedule
    if row is None or not row.enabled or not same_timing(timing, form.opened):
        return None
    return row.next_run_at


def _targets(form: Form, seen: Seen) -> list[ResolvedTarget]:
    names: dict[UUID, str] = {rack_id: known.name for rack_id, known in seen.names.items()}
    return [pick.resolved(names[pick.rack_id]) for pick in form.picks.values() if seen.live(pick)]


def line_of(shown: Preview) -> str:
    """The preview in one line, without times."""
    parts = [shown.when, shown.operation]
    if shown.is_call:
        parts.append(calls_words(shown.racks))
    elif shown.racks:
        parts.append(f"{shown.components} components on {shown.racks} {'rack' if shown.racks == 1 else 'racks'}")
    if shown.forecast is not None and shown.forecast.collisions:
        parts.append(f"collides with {collisions(shown.forecast)}")
    return " · ".join(part for part in parts if part)


def calls_words(racks: int) -> str:
    """How many calls each firing makes."""
    return f"{racks} calls each time, one a rack" if racks > 1 else "one call each time"


def collisions(forecast: Forecast) -> str:
    """How many schedules it meets."""
    count = len({collision.schedule_id for collision in forecast.collisions})
    more = "more than " if forecast.more else ""
    return f"{more}{count} {'schedule' if count == 1 else 'schedules'}"
