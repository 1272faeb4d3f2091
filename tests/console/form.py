"""Filling the schedule's form as a browser would: its fields, its racks, and the hidden ones that it came with."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

from inventory.models import Component, Rack
from schedules.models import TaskSchedule
from scopes.models import TaskScheduleScope
from tests.factories import RackFactory

ADD = "/admin/schedules/add/"
KINDS = ("Compute", "NVSwitch", "PowerShelf")
CRON = {"kind": "calendar", "cron": "30 2 * * *", "timezone": "America/New_York"}
EVERY = {"kind": "every", "every_number": "15", "every_unit": "m"}
ONCE = {"kind": "once", "once_date": "2031-06-01", "once_time": "04:00", "once_zone": "Europe/Berlin"}
RULES = {"overlap": "skip", "late": "run", "grace_number": "5", "grace_unit": "m"}


def edit_path(schedule: TaskSchedule) -> str:
    return f"/admin/schedules/{schedule.pk}/edit/"


def full_rack(name: str, **fields) -> Rack:
    """A rack of two components of each of three types."""
    return RackFactory(name=name, components=6, types=KINDS, **fields)


def lines(racks: Iterable[Rack]) -> str:
    """How the form keeps whole racks."""
    return "\n".join(str(rack.pk) for rack in racks)


def filled(*racks: Rack, name: str = "Nightly power reset", **fields) -> dict[str, str]:
    """A form that can be saved."""
    return {"name": name, "operation": "power_reset", "racks": lines(racks), **CRON, **RULES, **fields}


def fields_of(response) -> dict[str, list[str]]:
    """What a browser would send of the page's form, buttons aside."""
    body = response.content.decode()
    form = body[body.index('id="schedule-form"') : body.rindex("</form>")]
    sent: dict[str, list[str]] = {}
    for tag in re.findall(r"<input [^>]*>", form):
        kind = _attribute(tag, "type") or "text"
        name = _attribute(tag, "name")
        if name and (kind not in {"radio", "checkbox"} or " checked" in tag):
            sent.setdefault(name, []).append(_attribute(tag, "value") or "")
    for attributes, text in re.findall(r"<textarea ([^>]*)>(.*?)</textarea>", form, re.DOTALL):
        name = _attribute("<" + attributes, "name")
        if name:
            sent.setdefault(name, []).append(html.unescape(text.removeprefix("\n")))
    for attributes, options in re.findall(r"<select ([^>]*)>(.*?)</select>", form, re.DOTALL):
        chosen = re.search(r'<option value="([^"]*)" selected', options) or re.search(r'value="([^"]*)"', options)
        sent.setdefault(_attribute("<" + attributes, "name") or "", []).append(html.unescape(chosen[1]))
    sent.pop("csrfmiddlewaretoken", None)
    return sent


def scopes(schedule: TaskSchedule) -> list[tuple[str, object]]:
    """(rack, filter as stored), in order."""
    rows = TaskScheduleScope.objects.filter(schedule=schedule).order_by("position", "id")
    return list(rows.values_list("rack__name", "component_filter"))


def parts_of(rack: Rack, type_: str = "Compute") -> list[str]:
    """Ids of a rack's components of one type."""
    found = Component.objects.filter(rack=rack, type=type_).order_by("name").values_list("id", flat=True)
    return [str(pk) for pk in found]


def errors_of(response) -> dict[str, str]:
    """Input -> message, as shown at the fields, without the capital that it begins with there."""
    body = response.content.decode()
    found = re.findall(r'data-error-for="([^"]*)">([^<]*)</span>', body)
    return {name: (said := html.unescape(text))[:1].lower() + said[1:] for name, text in found if text}


def _attribute(tag: str, name: str) -> str | None:
    found = re.search(rf'[< ]{name}="([^"]*)"', tag)
    return html.unescape(found[1]) if found else None
