"""`manage.py rack`: look at racks, remove them, put them into NVLink domains."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from flowsched import clock
from flowsched.actor import Actor
from flowsched.cli import FlowCommand
from flowsched.errors import InvalidInput
from inventory.models import Component, Rack
from inventory.selectors import components_of, rack_get, racks_list
from inventory.services import Moved, rack_remove, racks_attach, racks_detach

PAGE = 50
MAX_PAGE = 10_000


class Command(FlowCommand):
    """Racks: list, show, remove, attach, detach. Racks and domains are given by name or id."""

    help = "Look at racks, remove them, put them into NVLink domains. Racks and domains are given by name or id."

    def add_arguments(self, parser: CommandParser) -> None:
        """A subcommand a verb."""
        verbs = parser.add_subparsers(dest="verb", required=True)
        listing = verbs.add_parser("list", help="racks by name")
        listing.add_argument("--limit", type=int, default=PAGE, help=f"how many to show (default {PAGE})")
        for name, text in (
            ("show", "one rack with its components"),
            ("remove", "remove a rack (it can be imported again)"),
        ):
            verbs.add_parser(name, help=text).add_argument("rack", metavar="RACK", help="name or id")
        attach = verbs.add_parser("attach", help="put racks into an NVLink domain: all or none")
        attach.add_argument("domain", metavar="DOMAIN", help="name or id")
        detach = verbs.add_parser("detach", help="take racks out of their NVLink domains: all or none")
        for sub in (attach, detach):
            sub.add_argument("racks", nargs="+", metavar="RACK", help="name or id")
        for sub in verbs.choices.values():
            super().add_arguments(sub)

    def run(self, **options: Any) -> int | None:
        """Do what the verb says."""
        getattr(self, f"_{options['verb']}")(**options)
        return None

    def _list(self, *, limit: int, json: bool, **_: Any) -> None:
        if not 1 <= limit <= MAX_PAGE:
            raise InvalidInput(f"--limit {limit}: give a number from 1 to {MAX_PAGE}", field="limit")
        racks, total = racks_list(limit=limit)
        if json:
            self.print_json({"racks": [_brief(rack) for rack in racks], "total": total})
            return
        rows = [list(_brief(rack).values())[1:] for rack in racks]
        self.print_table(
            ["name", "domain", "components", "status", "serial number", "place"],
            rows,
            empty="no racks: import some with manage.py import_racks, or make some with manage.py demo_racks",
        )
        if total > len(racks):
            self.stdout.write(f"… and {total - len(racks)} more")

    def _show(self, *, rack: str, json: bool, **_: Any) -> None:
        row = rack_get(rack)
        components = components_of(row.id)
        if json:
            self.print_json(_full(row) | {"components": [_component(c) for c in components]})
            return
        self.print_table(["rack", ""], [[k.replace("_", " "), v] for k, v in _full(row).items()], empty="")
        self.stdout.write("")
        columns = ["type", "name", "power_state", "firmware_version", "slot_id", "external_id", "id", "bmcs"]
        cells = [{**_component(c), "bmcs": len(c.bmcs.all())} for c in components]
        self.print_table(
            [column.replace("_", " ") for column in columns],
            [[cell[column] for column in columns] for cell in cells],
            empty="no components",
        )

    def _remove(self, *, rack: str, json: bool, **_: Any) -> None:
        row = rack_remove(rack=rack, by=Actor.cli(), now=clock.now())
        if json:
            self.print_json({"id": row.id, "name": row.name, "deleted_at": row.deleted_at})
        else:
            self.stdout.write(f"rack '{row.name}' is removed; schedules that cover it will say so")

    def _attach(self, *, domain: str, racks: list[str], json: bool, **_: Any) -> None:
        moved = racks_attach(domain=domain, racks=racks, by=Actor.cli(), now=clock.now())
        self._say(moved, "attached", f"already in '{domain}'", as_json=json)

    def _detach(self, *, racks: list[str], json: bool, **_: Any) -> None:
        moved = racks_detach(racks=racks, by=Actor.cli(), now=clock.now())
        self._say(moved, "detached", "in no domain", as_json=json)

    def _say(self, moved: Moved, done: str, already: str, *, as_json: bool) -> None:
        if as_json:
            self.print_json({done: moved.moved, "skipped": moved.skipped})
            return
        self.stdout.write(f"{done}: {', '.join(moved.moved) or 'none'}")
        if moved.skipped:
            self.stdout.write(f"skipped, {already}: {', '.join(moved.skipped)}")


def _place(rack: Rack) -> str:
    return " / ".join(rack.location[key] for key in ("data_center", "room", "position") if rack.location.get(key))


def _brief(rack: Rack) -> dict[str, Any]:
    return {
        "id": rack.id,
        "name": rack.name,
        "nvl_domain": rack.nvl_domain.name if rack.nvl_domain else None,
        "components": getattr(rack, "component_count", 0),
        "status": rack.status,
        "serial_number": rack.serial_number,
        "place": _place(rack),
    }


def _full(rack: Rack) -> dict[str, Any]:
    names = ("id", "name", "manufacturer", "model", "serial_number", "external_id", "status", "description")
    facts = {name: getattr(rack, name) for name in names}
    domain = rack.nvl_domain.name if rack.nvl_domain else None
    return facts | {"nvl_domain": domain, "location": rack.location, "created_at": rack.created_at}


def _component(component: Component) -> dict[str, Any]:
    names = (
        "id", "type", "name", "manufacturer", "model", "serial_number", "external_id", "firmware_version",
        "power_state", "slot_id", "tray_index", "host_id",
    )  # fmt: skip
    bmcs = [
        {"mac_address": bmc.mac_address, "type": bmc.type, "ip_address": bmc.ip_address} for bmc in component.bmcs.all()
    ]
    return {name: getattr(component, name) for name in names} | {"bmcs": bmcs}
