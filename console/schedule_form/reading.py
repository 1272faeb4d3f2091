"""What the typed fields mean: values for the services, or what is wrong with which field.

The rules are the services' own; here each is asked of its field, so that all that is wrong is said at once. A field
that is still empty is missing, not wrong: while somebody types that is said quietly.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from django.conf import settings

from console.schedule_form.call_reading import call_read
from console.schedule_form.call_typed import CALL, PREFIX, CallTyped
from console.schedule_form.typed import CALENDAR, DEFAULT, EVERY, ONCE, SPEC_TYPE_OF, Typed
from console.zones import zone_named
from flowsched.errors import InvalidInput
from inventory.identifiers import check_name, shown
from schedules.checks import check_grace, check_overlap_policy
from schedules.durations import parse_duration, to_timedelta
from schedules.services import default_grace
from schedules.specs import spec_parse
from schedules.timestamps import FIRST_YEAR, LAST_YEAR
from schedules.timing import Spec
from schedules.zones import find_change, read
from tasks.http.endpoints import Endpoint
from tasks.operations import Operation, OperationKind, operation

FORCED: Final = frozenset({OperationKind.POWER_OFF.value, OperationKind.POWER_RESET.value})
VERSIONED: Final = frozenset({OperationKind.UPGRADE_FIRMWARE.value})
_ORDER: Final = (
    "name", "operation", "target_version",
    *(PREFIX + call.name for call in fields(CallTyped)),
    "kind", "every_number", "every_text", "cron", "timezone", "once_date",
    "once_time", "once_zone", "overlap", "late", "grace_number", "racks",
)  # fmt: skip
_DATE: Final = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_TIME: Final = re.compile(r"([0-9]{2}):([0-9]{2})(?::([0-9]{2}))?")
_NUMBER: Final = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,6})?")


class Missing(InvalidInput):
    """A field that has to be filled is empty."""


@dataclass(frozen=True, slots=True)
class Timing:
    """When the schedule runs, as it is stored, and read. `note` says what a clock change did to a typed time."""

    spec: Spec
    note: str = ""

    @property
    def stored(self) -> tuple[str, str, str]:
        """What decides whether two are the same."""
        return self.spec.spec_type, self.spec.spec, self.spec.timezone


@dataclass(slots=True)
class Reading:
    """What was understood; `wrong` and `missing` say of each other field, by its input's name, why not."""

    timing: Timing | None = None
    operation: Operation | None = None
    grace: timedelta | None = None
    wrong: dict[str, str] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    @property
    def errors(self) -> dict[str, str]:
        """All that keeps the form from being saved, in the order in which the form asks."""
        every = self.wrong | self.missing
        return {name: every[name] for name in sorted(every, key=_place)}

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """Note what is refused inside, on the field it names or on `name`."""
        try:
            yield
        except Missing as error:
            self.missing[error.field or name] = error.message
        except InvalidInput as error:
            self.wrong[error.field or name] = error.message


def _place(name: str) -> int:
    return _ORDER.index(name) if name in _ORDER else len(_ORDER)


def reading_of(
    typed: Typed, call: CallTyped, usable: Mapping[str, Endpoint], *, with_operation: bool = True
) -> Reading:
    """Read all fields. The operation of a schedule that exists is not read: it cannot be changed.

    `usable`: the endpoints that an HTTP call of this person's may go to.
    """
    found = Reading()
    with found.of("name"):
        _name(typed)
    with found.of("kind"):
        found.timing = timing_of(typed)
    if with_operation and typed.operation == CALL:
        of_call = call_read(call, usable)
        found.operation = of_call.operation
        found.wrong |= of_call.wrong
        found.missing |= of_call.missing
    elif with_operation:
        with found.of("operation"):
            found.operation = _operation(typed)
    with found.of("overlap"), _renamed(overlap_policy="overlap"):
        check_overlap_policy(typed.overlap)
    with found.of("grace_number"):
        by_default = with_operation and typed.late == DEFAULT
        found.grace = default_grace(found.operation) if by_default else grace_of(typed)
    return found


def timing_of(typed: Typed) -> Timing:
    """Read when it runs. Raises InvalidInput and Missing on the input at fault."""
    reader: Callable[[Typed], Timing] | None = {EVERY: _every, CALENDAR: _calendar, ONCE: _once}.get(typed.kind)
    if reader is None:
        raise Missing("say when it runs: every so often, at calendar times, or once", field="kind")
    return reader(typed)


def grace_of(typed: Typed) -> timedelta | None:
    """Read how late it may run; None is however late. Raises InvalidInput and Missing on `grace_number`."""
    if typed.late == "run":
        return None
    if typed.late != "skip":
        raise Missing("say what happens if it is late", field="late")
    if not typed.grace_number:
        raise Missing("say how late it may run", field="grace_number")
    with _renamed(misfire_grace="grace_number", **{"": "grace_number"}):
        grace = to_timedelta(parse_duration(_amount(typed.grace_number, typed.grace_unit, "grace_number")))
        check_grace(grace, poll_interval=settings.FLOWSCHED_POLL_INTERVAL)
    return grace


def _name(typed: Typed) -> None:
    if not typed.name:
        raise Missing("give it a name", field="name")
    check_name(typed.name, what="the schedule's name")


def _every(typed: Typed) -> Timing:
    if not (typed.every_text or typed.every_number):
        raise Missing("say how often it runs", field="every_number")
    name = "every_text" if typed.every_text else "every_number"
    text = typed.every_text or _amount(typed.every_number, typed.every_unit, name)
    with _renamed(spec=name):
        return Timing(spec_parse(SPEC_TYPE_OF[EVERY], text, ""))


def _calendar(typed: Typed) -> Timing:
    if not typed.cron:
        raise Missing("write a cron expression, or take one of the examples", field="cron")
    zone_named(typed.timezone, field="timezone")
    with _renamed(spec="cron"):
        return Timing(spec_parse(SPEC_TYPE_OF[CALENDAR], typed.cron, typed.timezone))


def _once(typed: Typed) -> Timing:
    for name, words in (("once_date", "choose a day"), ("once_time", "choose a time")):
        if not getattr(typed, name):
            raise Missing(words, field=name)
    with _renamed(timezone="once_zone", spec="once_date"):
        zone = zone_named(typed.once_zone, field="once_zone")
        at, note = _instant(_wall(typed), zone)
        text = at.replace(tzinfo=None).isoformat(timespec="seconds") + "Z"
        return Timing(spec_parse(SPEC_TYPE_OF[ONCE], text, zone.key), note)


def _wall(typed: Typed) -> datetime:
    """The date and time of day typed, without a zone."""
    day, clock = _DATE.fullmatch(typed.once_date), _TIME.fullmatch(typed.once_time)
    if day is None:
        raise InvalidInput(f"'{shown(typed.once_date)}' is no day: write it as 2026-06-01", field="once_date")
    if clock is None:
        raise InvalidInput(f"'{shown(typed.once_time)}' is no time of day: write it as 02:30", field="once_time")
    if not FIRST_YEAR <= int(day[1]) <= LAST_YEAR:
        raise InvalidInput(f"the year must be {FIRST_YEAR} to {LAST_YEAR}", field="once_date")
    try:
        date = datetime(int(day[1]), int(day[2]), int(day[3]))  # noqa: DTZ001  a wall clock; its zone comes next
    except ValueError:
        raise InvalidInput(f"there is no day {typed.once_date}", field="once_date") from None
    try:
        return date.replace(hour=int(clock[1]), minute=int(clock[2]), second=int(clock[3] or 0))
    except ValueError:
        raise InvalidInput(f"there is no time of day {typed.once_time}", field="once_time") from None


def _instant(wall: datetime, zone: ZoneInfo) -> tuple[datetime, str]:
    """What the wall clock means in the zone: nothing inside a gap, the first pass where it comes twice."""
    readings = read(wall, zone)
    if readings.skipped:
        after = find_change(readings, zone)[0].astimezone(zone)
        raise InvalidInput(
            f"{wall:%H:%M} does not exist on that day in {zone.key}, where the clocks go forward: "
            f"choose {after:%H:%M} or later",
            field="once_time",
        )
    note = f"{wall:%H:%M} comes twice on that day in {zone.key}: the first pass is meant." if readings.twice else ""
    return readings.before.astimezone(UTC), note


def _operation(typed: Typed) -> Operation:
    if not typed.operation:
        raise Missing("say what it does", field="operation")
    version = typed.target_version if typed.operation in VERSIONED else ""
    if typed.operation in VERSIONED and not version:
        raise Missing("say to which version", field="target_version")
    forced = bool(typed.forced) and typed.operation in FORCED
    return operation(typed.operation, forced=forced, target_version=version or None)


def _amount(number: str, unit: str, name: str) -> str:
    """A number and a unit as a duration."""
    if not _NUMBER.fullmatch(number) or unit not in {"s", "m", "h"}:
        raise InvalidInput(f"'{shown(number)}' is no number: write one such as 15", field=name)
    return number + unit


@contextmanager
def _renamed(**names: str) -> Iterator[None]:
    """Put what a service refuses on the input that the form has for the service's field."""
    try:
        yield
    except InvalidInput as error:
        if error.field not in names:
            raise
        raise InvalidInput(error.message, reason=error.reason, field=names[error.field]) from error
