"""The form between two requests: everything it holds travels in its own fields, nothing is stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final
from uuid import UUID, uuid4
from zoneinfo import ZoneInfo

from django.http import QueryDict

from console.schedule_form.call_typed import CALL, CallTyped, call_typed
from console.schedule_form.picks import FIELD, Choices, Pick, Picks, pick_stored, picks_read
from console.schedule_form.typed import Typed, blank, not_copied, typed_of
from flowsched.errors import InvalidInput
from inventory.identifiers import MAX_NAME, uuid_or_none
from inventory.picking import racks_by_name
from schedules.models import TaskSchedule
from scopes.selectors import scope_filters
from tasks.http.endpoints import Endpoint

OPENED: Final = "was_"  # before the names of the fields that hold what the form was opened with


@dataclass(slots=True)
class Form:
    """One form: what was typed and picked, what it was opened with, and what there is to say.

    `schedule` None: a new one, created once under `nonce`. `rackless`: it makes one call without a rack. `usable` are
    the endpoints that whoever fills it in may use, by name. `ticks` are the component types ticked for all racks,
    `ticks_applied` those that the racks were shown to have.
    """

    typed: Typed
    call: CallTyped = field(default_factory=CallTyped)
    usable: Mapping[str, Endpoint] = field(default_factory=dict)
    picks: Picks = field(default_factory=dict)
    schedule: TaskSchedule | None = None
    version: int = 0
    opened: Typed = field(default_factory=Typed)
    opened_picks: Picks = field(default_factory=dict)
    rackless: bool = False
    choices: Choices | None = None
    ticks: tuple[str, ...] = ()
    ticks_applied: tuple[str, ...] = ()
    names: str = ""
    page: int = 1
    nonce: UUID = field(default_factory=uuid4)
    wrong: dict[str, str] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    @property
    def is_call(self) -> bool:
        """Whether its operation is an HTTP call, which can do without racks (D-1)."""
        return self.typed.operation == CALL

    @property
    def ticks_pending(self) -> frozenset[str]:
        """The types whose ticks for all racks were changed and not applied to them yet."""
        return frozenset(self.ticks) ^ frozenset(self.ticks_applied) if len(self.picks) > 1 else frozenset()


def form_new(zone: ZoneInfo, *, racks: list[str], copied: TaskSchedule | None) -> Form:
    """An empty form, with these racks, or the copy of a schedule."""
    if copied is not None:
        return _copy(copied, zone)
    form = Form(blank(zone))
    found = racks_by_name(racks) if racks else {}
    form.picks = {found[name]: Pick(found[name]) for name in racks if name in found}
    form.refused += [f"There is no rack “{name[:MAX_NAME]}”." for name in racks if name not in found]
    return form


def form_of(row: TaskSchedule, zone: ZoneInfo) -> Form:
    """The form of a stored schedule."""
    typed, (picks, rackless) = typed_of(row, zone), picks_of(row)
    return Form(
        typed, picks=picks, schedule=row, version=row.version, opened=typed, opened_picks=picks, rackless=rackless
    )  # fmt: skip


def form_posted(data: QueryDict, schedule: TaskSchedule | None) -> Form:
    """The form that a request carries. What of its racks cannot be read is said on them."""
    form = Form(Typed.posted(data), CallTyped.posted(data), schedule=schedule, names=data.get("names", ""))
    form.nonce = uuid_or_none(data.get("nonce", "")) or form.nonce
    form.page = _number(data.get("page", ""), least=1)
    form.choices = Choices.posted(data)
    form.ticks, form.ticks_applied = tuple(data.getlist("all_type")), tuple(data.getlist("was_all_type"))
    form.rackless = bool(data.get("rackless"))
    try:
        form.picks = picks_read(data.get("racks", ""))
        if schedule is not None:
            form.version = _number(data.get("version", ""))
            form.opened = Typed.posted(data, OPENED)
            form.opened_picks = picks_read(data.get(f"{OPENED}racks", ""))
        if form.choices is not None and form.choices.rack_id in form.picks:
            form.picks[form.choices.rack_id] = form.choices.pick
    except InvalidInput as error:
        form.wrong[FIELD] = error.message
    return form


def picks_of(row: TaskSchedule) -> tuple[Picks, bool]:
    """The racks of a stored schedule, and whether it has the one scope without a rack instead."""
    stored = scope_filters(row.pk)
    picks = {rack_id: pick_stored(rack_id, filter_) for rack_id, filter_ in stored if rack_id is not None}
    return picks, bool(stored) and not picks


def _copy(row: TaskSchedule, zone: ZoneInfo) -> Form:
    typed = typed_of(row, zone)
    name = f"{row.name[: MAX_NAME - 7]} (copy)"
    call, unsaid = call_typed(row)
    form = Form(replace(typed, name=name), call, picks=picks_of(row)[0])
    form.said.append(f"Copied from “{row.name}”: nothing is created before you press Create.")
    left = [*unsaid, *not_copied(row)]
    if left or not typed.operation:
        form.refused.append(f"Not copied, as this form has no field for it: {', '.join(left) or 'the operation'}.")
    return form


def _number(text: str, *, least: int = 0) -> int:
    return max(least, int(text)) if text.isascii() and text.isdigit() and len(text) < 10 else least  # noqa: PLR2004
