"""Which other schedules a schedule will meet on its racks: the forecast mode of the conflict check (D-21).

The coarse check compares types of operations; this one compares the components that both reach now, by the conflict
table, and the runs of both within a horizon, each assumed to take its operation's whole budget. It never blocks
anything, and it is bounded: what it did not compare it says.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from flowsched.errors import InvalidInput
from inventory.models import Component
from inventory.targets import ResolvedTarget
from schedules.models import TaskSchedule
from schedules.specs import spec_of
from schedules.template import Template, template_load
from schedules.timing import Spec
from schedules.upcoming import first_run
from scopes.filters import filter_parse
from scopes.meeting import Runs, first_meeting
from scopes.models import TaskScheduleScope
from scopes.selectors import types_that_may_meet
from tasks.conflicts import Footprint, conflict
from tasks.operations import Operation, budget, operation_label

HORIZON: Final = timedelta(days=14)
ASSUMED: Final = timedelta(hours=1)  # for an operation without a budget
MOST_SCHEDULES: Final = 200
MOST_RACKS: Final = 200  # shared racks whose components are compared
MOST_SHOWN: Final = 20
_MOST_SCOPES: Final = 5_000

# The racks' schedules first, once: the planner thinks that few schedules are of these types, as it keeps no statistics
# of what JSON holds, and would look every rack up again for each schedule.
_SHARING: Final = """
    WITH sharing AS MATERIALIZED (SELECT DISTINCT schedule_id FROM task_schedule_scope WHERE rack_id = ANY(%(racks)s))
    SELECT schedule.* FROM task_schedule AS schedule JOIN sharing ON sharing.schedule_id = schedule.id
     WHERE schedule.enabled AND schedule.operation_template ->> 'type' = ANY(%(types)s)
       AND schedule.id IS DISTINCT FROM %(except)s::uuid
     ORDER BY schedule.next_run_at, schedule.id LIMIT %(limit)s
"""

Parts = Mapping[str, frozenset[UUID]]  # the components of a rack, by type


@dataclass(frozen=True, slots=True)
class Collision:
    """Another schedule that holds some of the racks when this one runs, or the other way round, and why it may not."""

    schedule_id: UUID
    schedule_name: str
    operation: str
    racks: tuple[str, ...]
    mine: datetime
    theirs: datetime
    takes: timedelta
    reason: str


@dataclass(frozen=True, slots=True)
class Forecast:
    """Collisions, the earliest first, each with its first meeting; `more` were found and left out.

    `takes` is what a run of this schedule is assumed to take. `cut` says in sentences what was not compared.
    """

    horizon: timedelta
    takes: timedelta
    collisions: tuple[Collision, ...] = ()
    more: int = 0
    cut: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Other:
    """A schedule whose runs meet this one's."""

    row: TaskSchedule
    template: Template
    mine: datetime
    theirs: datetime
    racks: dict[str, list[str]] = field(default_factory=dict)  # reason -> names of racks

    def collisions(self) -> Iterable[Collision]:
        label = operation_label(self.template.type, self.template.code, self.template.information)
        for reason, racks in self.racks.items():
            yield Collision(
                self.row.pk, self.row.name, label, tuple(racks), self.mine, self.theirs, takes_of(self.template.type),
                reason,
            )  # fmt: skip


def takes_of(operation_type: str) -> timedelta:
    """How long a run of such an operation is assumed to take: its whole budget."""
    return budget(operation_type) or ASSUMED


def schedules_sharing(
    *, operation: Operation, rack_ids: Iterable[UUID], exclude_schedule_id: UUID | None = None
) -> tuple[list[TaskSchedule], bool]:
    """The enabled schedules on these racks whose operation may not meet `operation`, those that run next first.

    At most 200 of them, and whether there are more.
    """
    found = list(
        TaskSchedule.objects.raw(
            _SHARING,
            {
                "racks": list(rack_ids),
                "types": sorted(types_that_may_meet(operation.type)),
                "except": exclude_schedule_id,
                "limit": MOST_SCHEDULES + 1,
            },
        )
    )
    return found[:MOST_SCHEDULES], len(found) > MOST_SCHEDULES


def schedule_forecast(
    *,
    operation: Operation,
    spec: Spec,
    targets: Sequence[ResolvedTarget],
    now: datetime,
    due: datetime | None = None,
    exclude_schedule_id: UUID | None = None,
    horizon: timedelta = HORIZON,
) -> Forecast:
    """What a schedule of `operation` on `targets` will meet before `now + horizon`: at most three queries.

    `due` is when it runs next, if it exists and its timing stays; else it counts as created `now`. Schedules that do
    not fire, cannot be read, or whose filter of a rack cannot be read there, meet nobody.
    """
    until, takes = now + horizon, takes_of(operation.type)
    rack_ids = [target.rack_id for target in targets]
    rows, more = schedules_sharing(operation=operation, rack_ids=rack_ids, exclude_schedule_id=exclude_schedule_id)
    mine = Runs.of(spec, first=first_run(spec, due=due, now=now), takes=takes, now=now, until=until)
    others = {row.pk: other for row in rows if (other := _meets(row, mine, now, until)) is not None}
    cut = [f"Only the {MOST_SCHEDULES} schedules that run next were compared."] if more else []
    if others and _compare(operation, targets, others):
        cut.append(f"Only the components of {MOST_RACKS} racks were compared.")
    found = [collision for other in others.values() for collision in other.collisions()]
    found.sort(key=lambda collision: (min(collision.mine, collision.theirs), collision.schedule_name))
    return Forecast(horizon, takes, tuple(found[:MOST_SHOWN]), max(0, len(found) - MOST_SHOWN), tuple(cut))


def _meets(row: TaskSchedule, mine: Runs, now: datetime, until: datetime) -> _Other | None:
    """The schedule, if its runs meet mine; one that cannot be read fires on nothing."""
    try:
        template, spec = template_load(row.operation_template), spec_of(row)
        first = first_run(spec, due=row.next_run_at, now=now)
        theirs = Runs.of(spec, first=first, takes=takes_of(template.type), now=now, until=until)
    except InvalidInput:
        return None
    met = first_meeting(mine, theirs)
    return _Other(row, template, *met) if met is not None else None


def _compare(operation: Operation, targets: Sequence[ResolvedTarget], others: Mapping[UUID, _Other]) -> bool:
    """Note with each schedule the racks where it may not meet `operation`; return whether any were left out."""
    racks = {target.rack_id: target for target in targets}
    scopes = TaskScheduleScope.objects.filter(schedule_id__in=list(others), rack_id__in=list(racks))
    rows = list(
        scopes.order_by("position", "id").values_list("schedule_id", "rack_id", "component_filter")[: _MOST_SCOPES + 1]
    )
    compared = list(dict.fromkeys(rack_id for _, rack_id, _ in rows))[:MOST_RACKS]
    parts = _parts(compared)
    for schedule_id, rack_id, stored in rows[:_MOST_SCOPES]:
        if rack_id not in parts:
            continue
        other, target = others[schedule_id], racks[rack_id]
        mine = _chosen(parts[rack_id], target.types, target.components)
        theirs = _filtered(parts[rack_id], stored)
        if not (any(mine.values()) and any(theirs.values())):
            continue  # what reaches nothing is refused when it fires
        reason = conflict(Footprint(operation.type, mine), Footprint(other.template.type, theirs))
        if reason is not None:
            other.racks.setdefault(reason, []).append(target.rack_name)
    return len(rows) > _MOST_SCOPES or any(rack_id not in parts for _, rack_id, _ in rows)


def _parts(rack_ids: Sequence[UUID]) -> dict[UUID, dict[str, frozenset[UUID]]]:
    """The components of these racks by type, an entry for each rack."""
    found: dict[UUID, dict[str, set[UUID]]] = {rack_id: {} for rack_id in rack_ids}
    live = Component.objects.filter(rack_id__in=rack_ids, deleted_at__isnull=True)
    for rack_id, type_, component_id in live.values_list("rack_id", "type", "id"):
        found[rack_id].setdefault(type_, set()).add(component_id)
    return {rack_id: {type_: frozenset(ids) for type_, ids in types.items()} for rack_id, types in found.items()}


def _chosen(parts: Parts, types: Sequence[str] | None, components: Sequence[UUID] | None) -> Parts:
    """The components that a target or filter means."""
    if components is not None:
        named = frozenset(components)
        return {type_: ids & named for type_, ids in parts.items()}
    return parts if types is None else {type_: ids for type_, ids in parts.items() if type_ in types}


def _filtered(parts: Parts, stored: Any) -> Parts:
    """The components that a stored filter means; none if it cannot be read."""
    try:
        read = filter_parse(stored)
    except InvalidInput:
        return {}
    if read is None:
        return parts
    return _chosen(parts, read.types, None) if read.kind == "types" else _chosen(parts, None, read.components)
