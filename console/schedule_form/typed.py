"""What stands in the fields of the form, as text and exactly as typed: a form shown again shows this.

Nothing is read here. A stored schedule becomes the text that says the same, so that what nobody touched is equal
before and after, and is not written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from datetime import timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

from console.schedule_form.call_typed import CALL
from flowsched.errors import InvalidInput
from schedules.durations import format_duration, to_nanoseconds
from schedules.models import TaskSchedule
from schedules.template import template_load
from schedules.timestamps import parse_timestamp
from schedules.zones import zone_names
from tasks.operations import OperationKind

EVERY: Final = "every"
CALENDAR: Final = "calendar"
ONCE: Final = "once"
KIND_OF: Final[Mapping[str, str]] = {"interval": EVERY, "cron": CALENDAR, "one-time": ONCE}
SPEC_TYPE_OF: Final[Mapping[str, str]] = {kind: spec_type for spec_type, kind in KIND_OF.items()}
_NUMBER_AND_UNIT: Final = re.compile(r"([1-9][0-9]{0,8})(s|m|h)")
# (type, code) -> what the form offers for it; the codes that only other doors can create are not offered.
_KINDS: Final[Mapping[tuple[str, str], tuple[OperationKind, bool]]] = {
    ("power_control", "power_on"): (OperationKind.POWER_ON, False),
    ("power_control", "power_off"): (OperationKind.POWER_OFF, False),
    ("power_control", "force_power_off"): (OperationKind.POWER_OFF, True),
    ("power_control", "restart"): (OperationKind.POWER_RESET, False),
    ("power_control", "force_restart"): (OperationKind.POWER_RESET, True),
    ("bring_up", "bring_up"): (OperationKind.BRING_UP, False),
    ("bring_up", "ingest"): (OperationKind.INGEST, False),
    ("firmware_control", "upgrade"): (OperationKind.UPGRADE_FIRMWARE, False),
}
DEFAULT: Final = "default"  # how late it may run: as is usual for its operation
_COPIED: Final = frozenset({"operation", "forced", "target_version", "op_code"})


@dataclass(frozen=True, slots=True)
class Typed:
    """The fields, except racks. Each is the name of its input."""

    name: str = ""
    kind: str = CALENDAR
    every_number: str = ""
    every_unit: str = "m"
    every_text: str = ""
    cron: str = ""
    timezone: str = ""
    once_date: str = ""
    once_time: str = ""
    once_zone: str = ""
    operation: str = ""
    forced: str = ""
    target_version: str = ""
    overlap: str = "skip"
    late: str = "run"
    grace_number: str = "5"
    grace_unit: str = "m"

    @classmethod
    def posted(cls, data: Mapping[str, Any], prefix: str = "") -> Typed:
        """What a request carries, blanks around it cut off; what it does not carry is empty."""
        return cls(**{field.name: str(data.get(prefix + field.name, "")).strip() for field in fields(cls)})

    def items(self) -> Iterator[tuple[str, str]]:
        """Each field with its text."""
        return iter(asdict(self).items())


def blank(zone: ZoneInfo) -> Typed:
    """The fields of a new schedule, times in the zone of whoever looks."""
    return Typed(timezone=zone.key, once_zone=zone.key, late=DEFAULT)


def typed_of(row: TaskSchedule, zone: ZoneInfo) -> Typed:
    """The fields of a stored schedule. What cannot be read is left empty; `zone` is for fields it has no value for."""
    stored_zone = row.timezone if row.timezone in zone_names() else zone.key
    typed = Typed(
        name=row.name,
        kind=KIND_OF.get(row.spec_type, CALENDAR),
        timezone=row.timezone or "UTC",
        once_zone=stored_zone,
        overlap=row.overlap_policy,
        **_grace(row.misfire_grace),
        **_operation(row),
    )
    return _with_timing(typed, row, stored_zone)


def not_copied(row: TaskSchedule) -> list[str]:
    """What a stored operation says that the form has no field for, in words: it is not copied."""
    stored = row.operation_template if isinstance(row.operation_template, dict) else {}
    information = stored.get("information")
    extra = sorted(set(information) - _COPIED) if isinstance(information, dict) and stored.get("type") != CALL else []
    queue = ["queue timeout"] if stored.get("queue_timeout_secs") else []
    return [*(name.replace("_", " ") for name in extra), *queue]


def _with_timing(typed: Typed, row: TaskSchedule, zone: str) -> Typed:
    if typed.kind == CALENDAR:
        return replace(typed, cron=row.spec)
    if typed.kind == EVERY:
        split = _NUMBER_AND_UNIT.fullmatch(row.spec)
        if split is None:
            return replace(typed, every_text=row.spec)
        return replace(typed, every_number=split[1], every_unit=split[2])
    try:
        wall = parse_timestamp(row.spec).astimezone(ZoneInfo(zone))
    except InvalidInput:
        return typed
    clock = f"{wall:%H:%M:%S}" if wall.second else f"{wall:%H:%M}"
    return replace(typed, once_date=wall.date().isoformat(), once_time=clock)


def _grace(grace: timedelta | None) -> dict[str, str]:
    if grace is None:
        return {}
    split = _NUMBER_AND_UNIT.fullmatch(format_duration(to_nanoseconds(grace)))
    number, unit = (split[1], split[2]) if split else (f"{grace.total_seconds():g}", "s")
    return {"late": "skip", "grace_number": number, "grace_unit": unit}


def _operation(row: TaskSchedule) -> dict[str, str]:
    try:
        template = template_load(row.operation_template)
    except InvalidInput:
        return {}
    if template.type == CALL:
        return {"operation": CALL}
    known = _KINDS.get((template.type, template.code))
    if known is None:
        return {}
    kind, forced = known
    version = template.information.get("target_version", "")
    return {"operation": kind.value, "forced": "on" if forced else "", "target_version": str(version)}
