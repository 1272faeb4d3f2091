"""Somebody else changed the schedule while its form was open: what it was, what it is, what was typed, side by side."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final
from uuid import UUID
from zoneinfo import ZoneInfo

from audit.models import AuditEntry
from audit.selectors import entries_of
from console.schedule_form.form import Form, picks_of
from console.schedule_form.picks import Picks, picks_same
from console.schedule_form.reading import timing_of
from console.schedule_form.typed import ONCE, Typed, typed_of
from flowsched.errors import InvalidInput
from inventory.picking import rack_names
from schedules.models import TaskSchedule
from schedules.rows import AUDIT_KIND
from schedules.wording import timing_words

RACKS: Final = "racks"
_LOOKED_AT: Final = 20  # entries of the trail, to find who changed it
_NAMED: Final = 6  # racks of a difference
# What is kept or left together -> its label and its fields.
_GROUPS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "name": ("Name", ("name",)),
    "timing": (
        "When",
        (
            "kind", "every_number", "every_unit", "every_text", "cron", "timezone", "once_date", "once_time",
            "once_zone",
        ),
    ),
    "overlap": ("If the previous task is still active", ("overlap",)),
    "late": ("If flowsched is late", ("late", "grace_number", "grace_unit")),
    RACKS: ("Racks", ()),
}  # fmt: skip
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_OVERLAPS: Final = {"skip": "skip that rack", "queue": "queue"}


@dataclass(frozen=True, slots=True)
class Cell:
    """A value in words; a one-time schedule's time beside it."""

    text: str
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ConflictRow:
    """A field that somebody changed. `mine`: I did, to something else than it is now; `both`: so did somebody else."""

    group: str
    label: str
    opened: Cell
    now: Cell
    yours: Cell
    mine: bool
    both: bool


@dataclass(frozen=True, slots=True)
class Conflict:
    """What the page says of it; `entry` is the newest change by somebody else, if the trail has it."""

    version: int
    entry: AuditEntry | None
    rows: list[ConflictRow]


def conflict_of(form: Form, row: TaskSchedule, zone: ZoneInfo) -> Conflict:
    """Compare the form with the schedule as it is now: three queries."""
    now_typed, now_picks = typed_of(row, zone), picks_of(row)[0]
    names = _names(form, now_picks)
    rows = []
    for group, (label, _) in _GROUPS.items():
        states = (form.opened, form.opened_picks), (now_typed, now_picks), (form.typed, form.picks)
        opened, now, yours = (_value(group, typed, picks) for typed, picks in states)
        changed, moved = not _same(group, opened, yours), not _same(group, opened, now)
        if not changed and not moved:
            continue
        cells = [_cell(group, typed, picks, form.opened_picks, names) for typed, picks in states]
        mine = changed and not _same(group, yours, now)
        rows.append(ConflictRow(group, label, cells[0], cells[1], cells[2], mine=mine, both=mine and moved))
    return Conflict(row.version, _newest(row, form.version), rows)


def rebased(form: Form, kept: Collection[str], row: TaskSchedule, zone: ZoneInfo) -> None:
    """Put the form upon the schedule as it is now: mine for the groups kept, what is there for the others."""
    now_typed, now_picks = typed_of(row, zone), picks_of(row)[0]
    names = [name for group, (_, fields) in _GROUPS.items() if group in kept for name in fields]
    form.typed = replace(now_typed, **{name: getattr(form.typed, name) for name in names})
    if RACKS not in kept:
        form.picks, form.choices = dict(now_picks), None
    form.opened, form.opened_picks, form.version = now_typed, now_picks, row.version


def _value(group: str, typed: Typed, picks: Picks) -> object:
    """What decides whether two states of a group are the same."""
    if group == RACKS:
        return picks
    if group == "timing":
        try:
            return timing_of(typed).stored
        except InvalidInput:
            pass
    if group == "late" and typed.late == "run":
        return None
    return tuple(getattr(typed, name) for name in _GROUPS[group][1])


def _same(group: str, one: object, other: object) -> bool:
    if group == RACKS:
        assert isinstance(one, dict)
        assert isinstance(other, dict)
        return picks_same(one, other)
    return one == other


def _cell(group: str, typed: Typed, picks: Picks, opened: Picks, names: Mapping[UUID, str]) -> Cell:
    if group == "name":
        return Cell(typed.name)
    if group == "timing":
        return _timing_cell(typed)
    if group == "overlap":
        return Cell(_OVERLAPS.get(typed.overlap, typed.overlap))
    if group == "late":
        late = typed.late == "run"
        return Cell("run however late" if late else f"skip if later than {typed.grace_number} {typed.grace_unit}")
    return Cell(_racks_words(picks, opened, names))


def _timing_cell(typed: Typed) -> Cell:
    try:
        spec = timing_of(typed).spec
    except InvalidInput as error:
        return Cell(error.message)
    at = spec.first_run(_EPOCH) if typed.kind == ONCE else None  # its instant, whenever it is asked
    return Cell(timing_words(spec.spec_type, spec.spec, spec.timezone), at)


def _racks_words(picks: Picks, opened: Picks, names: Mapping[UUID, str]) -> str:
    """How many, and what is different from when the form was opened."""
    said = f"{len(picks)} {'rack' if len(picks) == 1 else 'racks'}"
    new = [f"+ {names.get(rack_id, rack_id)}" for rack_id in picks if rack_id not in opened]
    gone = [f"− {names.get(rack_id, rack_id)}" for rack_id in opened if rack_id not in picks]  # noqa: RUF001  a minus
    other = [
        f"{names.get(rack_id, rack_id)}: {pick.filter or 'whole rack'}"
        for rack_id, pick in picks.items()
        if rack_id in opened and not pick.same(opened[rack_id])
    ]
    differences = [*new, *gone, *other]
    more = f" and {len(differences) - _NAMED} more" if len(differences) > _NAMED else ""
    return f"{said}: {', '.join(differences[:_NAMED])}{more}" if differences else said


def _names(form: Form, now: Picks) -> dict[UUID, str]:
    everywhere = [rack_id for picks in (form.opened_picks, form.picks, now) for rack_id in picks]
    return {rack_id: known.name for rack_id, known in rack_names(set(everywhere)).items()}


def _newest(row: TaskSchedule, version: int) -> AuditEntry | None:
    """The newest change since `version`."""
    for entry in entries_of(AUDIT_KIND, row.pk, limit=_LOOKED_AT):
        if not entry.refused and (entry.after or {}).get("version", 0) > version:
            return entry
    return None
