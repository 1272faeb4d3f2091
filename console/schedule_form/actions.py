"""What the buttons of the rack list do to the form: add by name, by search or by paste, take out, open choices, page.

Each changes the form and stores nothing; without a script they are ordinary buttons of the form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final
from uuid import UUID

from django.conf import settings
from django.http import QueryDict

from console.schedule_form.form import Form
from console.schedule_form.picks import FIELD, Choices, Pick, pick_of_types
from flowsched.errors import InvalidInput
from inventory.identifiers import shown, uuid_or_none
from inventory.picking import domains_by_name, rack_names, racks_by_name
from inventory.selectors import racks_of_domains

ROWS: Final = 50  # racks shown a page
_NAMED: Final = 12  # unknown names that a sentence lists
PRESETS: Final[Mapping[str, str]] = {"night": "0 2 * * *", "weekdays": "30 8 * * 1-5", "month": "0 0 1 * *"}


def act(form: Form, do: str, data: QueryDict) -> None:
    """Do what a button asks; an unknown one does nothing."""
    name, _, argument = do.partition(":")
    action = _ACTIONS.get(name)
    if action is not None:
        action(form, argument, data)


def _add(form: Form, _argument: str, data: QueryDict) -> None:
    """What was picked from the search; else the name in the search box and the names that were pasted."""
    kind, _, text = data.get("pick", "").partition(":")
    picked = uuid_or_none(text)
    if picked is not None and kind == "rack":
        names = {pk: rack.name for pk, rack in rack_names([picked]).items() if not rack.gone}
        if _take(form, list(names)):
            form.said.append(f"{names[picked]} added.")
    elif picked is not None and kind == "domain":
        _add_domains(form, [picked], data.get("find", ""))
    else:
        _add_names(form, [data.get("find", ""), *form.names.splitlines()])


def _add_names(form: Form, lines: Iterable[str]) -> None:
    """Racks and domains of these names, one a line. What is neither stays in the box and is listed."""
    names = list(dict.fromkeys(line.strip() for line in lines if line.strip()))
    most = settings.FLOWSCHED_MAX_SCOPES_PER_SCHEDULE
    if len(names) > most:
        form.refused.append(f"{len(names)} names are more than the {most} racks of a schedule: nothing was added.")
        return
    racks = racks_by_name(names)
    rest = [name for name in names if name not in racks]
    domains = domains_by_name(rest) if rest else {}
    unknown = [name for name in rest if name not in domains]
    added = _take(form, [racks[name] for name in names if name in racks])
    if added:
        form.said.append(f"{added} {'rack' if added == 1 else 'racks'} added.")
    for name, domain_id in domains.items():
        _add_domains(form, [domain_id], name)
    form.names = "\n".join(unknown)
    if unknown:
        listed = ", ".join(shown(name) for name in unknown[:_NAMED])
        more = f" and {len(unknown) - _NAMED} more" if len(unknown) > _NAMED else ""
        form.refused.append(f"No rack and no NVLink domain has the name {listed}{more}.")


def _add_domains(form: Form, domain_ids: list[UUID], name: str) -> None:
    racks = list(racks_of_domains(domain_ids).select_related("nvl_domain").only("id", "nvl_domain__name"))
    domain = racks[0].nvl_domain if racks else None
    name = domain.name if domain is not None else shown(name)
    added = _take(form, [rack.pk for rack in racks])
    if not racks:
        form.refused.append(f"NVLink domain {name} has no racks.")
    elif added:
        form.said.append(
            f"{added} {'rack' if added == 1 else 'racks'} of {name} added. "
            "Racks that join the domain later are not included."
        )


def _take(form: Form, rack_ids: list[UUID]) -> int:
    """Add racks that are not in the list yet, if there is room for all; return how many that were."""
    new = [rack_id for rack_id in rack_ids if rack_id not in form.picks]
    most = settings.FLOWSCHED_MAX_SCOPES_PER_SCHEDULE
    if len(form.picks) + len(new) > most:
        form.refused.append(
            f"A schedule may have at most {most} racks, and this makes {len(form.picks) + len(new)}: "
            "nothing was added. Split it into several schedules."
        )
        return 0
    if rack_ids and not new:
        form.said.append("Already in the list." if len(rack_ids) == 1 else "All of them are in the list already.")
    form.picks |= {rack_id: Pick(rack_id) for rack_id in new}
    if new:
        form.page = _page_of(len(form.picks) - 1)
    return len(new)


def _open(form: Form, argument: str, _data: QueryDict) -> None:
    """Open the choices of a rack; those open before count as chosen, if they add up."""
    pick = form.picks.get(uuid_or_none(argument) or UUID(int=0))
    if FIELD not in form.wrong and pick is not None:
        form.choices = Choices.of(pick)


def _list(form: Form, _argument: str, _data: QueryDict) -> None:
    """Show the components to choose from: nothing has to be chosen yet."""
    if form.choices is not None:
        form.choices = replace(form.choices, reach="components")
        form.wrong.pop(FIELD, None)


def _close(form: Form, _argument: str, _data: QueryDict) -> None:
    """Close the choices, unless they do not add up."""
    if FIELD not in form.wrong:
        form.choices = None


def _remove(form: Form, argument: str, _data: QueryDict) -> None:
    rack_id = uuid_or_none(argument)
    if rack_id is None or form.picks.pop(rack_id, None) is None:
        return
    if form.choices is not None and form.choices.rack_id == rack_id:
        form.choices = None
        form.wrong.pop(FIELD, None)
    form.page = min(form.page, _page_of(len(form.picks) - 1))


def _clear(form: Form, _argument: str, _data: QueryDict) -> None:
    form.picks, form.choices, form.page = {}, None, 1
    form.ticks, form.ticks_applied = (), ()
    form.wrong.pop(FIELD, None)


def _all(form: Form, _argument: str, data: QueryDict) -> None:
    """The same types for every rack of the list; none chosen: whole racks."""
    try:
        form.picks = {rack_id: pick_of_types(rack_id, data.getlist("all_type")) for rack_id in form.picks}
    except InvalidInput as error:
        form.wrong[FIELD] = error.message
        return
    form.choices, form.ticks, form.ticks_applied = None, (), ()
    form.wrong.pop(FIELD, None)


def _turn(form: Form, argument: str, _data: QueryDict) -> None:
    if argument.isascii() and argument.isdigit() and len(argument) < 6:  # noqa: PLR2004  more pages than there are
        form.page = max(1, min(int(argument), _page_of(len(form.picks) - 1)))
        _close(form, "", _data)


def _preset(form: Form, argument: str, _data: QueryDict) -> None:
    if argument in PRESETS:
        form.typed = replace(form.typed, kind="calendar", cron=PRESETS[argument])


def _page_of(position: int) -> int:
    return max(0, position) // ROWS + 1


_ACTIONS: Final[Mapping[str, Callable[[Form, str, QueryDict], None]]] = {
    "add": _add,
    "open": _open,
    "list": _list,
    "close": _close,
    "remove": _remove,
    "clear": _clear,
    "all": _all,
    "page": _turn,
    "preset": _preset,
}
