"""What stands behind the doors in these tests: the example rack, racks of known ids, and the tables as text."""

from __future__ import annotations

import copy
import json
from typing import Any

from django.core.management import call_command
from django.db import connection

from flowsched import clock
from flowsched.actor import SYSTEM
from inventory.document import parse
from inventory.services import racks_import
from tests.faults.harness import ROOT

EXAMPLE = json.loads((ROOT / "inventory" / "data" / "rack-example.json").read_text())
COMPUTE = "ext-C9000001000000000001Y0FA"  # external id of the example's first compute tray
SWITCH = "ext-MT9901000001"  # and of its first NVLink switch
# Not a call's doing, or what a refused one may leave: who was refused what, when a token was used, keys, heartbeats.
BESIDES = {"audit_entry", "access_token", "idempotency_key", "process"}
KEPT = {"django_content_type", "auth_permission"}  # made by migrations
OURS = (
    "task_schedule", "task_schedule_scope", "firing", "firing_scope", "task", "run", "rack", "component", "bmc",
    "nvl_domain", "audit_entry", "hold", "idempotency_key", "procrastinate_jobs",
)  # fmt: skip


def example() -> dict[str, Any]:
    """The example rack with the external ids that the original leaves empty."""
    rack = copy.deepcopy(EXAMPLE)
    for component in rack["components"]:
        component["component_id"] = f"ext-{component['info']['serial_number']}"
    return rack


def import_example(folder: Any) -> None:
    """Import it, as an operator does."""
    path = folder / "rack.json"
    path.write_text(json.dumps(example()))
    call_command("import_racks", str(path), verbosity=0)


def rack_id(number: int) -> str:
    return f"aaaaaaaa-0000-4000-8000-{number:012d}"


def component_id(rack: int, number: int) -> str:
    return f"cccccccc-0000-4000-8{rack:03d}-{number:012d}"


KINDS = ("compute", "compute", "nvswitch", "powershelf")


def rack_document(number: int) -> dict[str, Any]:
    """A rack of four components with external ids, as in a file of racks."""
    info = {"id": rack_id(number), "name": f"rack-{number}", "manufacturer": "M", "serial_number": f"S{number}"}
    components = [
        {
            "type": kind,
            "info": {
                "id": component_id(number, index),
                "name": f"part-{number}-{index}",
                "manufacturer": "M",
                "serial_number": f"S{number}-{index}",
            },
            "component_id": f"ext-{number}-{index}",
        }
        for index, kind in enumerate(KINDS)
    ]
    return {"info": info, "components": components}


def make_racks(*numbers: int) -> None:
    """Racks `rack-N` of known ids."""
    data = json.dumps([rack_document(number) for number in numbers]).encode()
    document = parse(data, source="racks.json", max_components=len(KINDS))
    racks_import(document=document, by=SYSTEM, now=clock.now())


def truncate(*, everything: bool = False) -> None:
    """Empty our tables and start their counters anew; users and tokens stay, unless it is `everything`."""
    assert connection.settings_dict["NAME"].startswith("test_"), "this is somebody's database"
    emptied = [table for table in tables() if table not in KEPT] if everything else OURS
    with connection.cursor() as cursor:
        cursor.execute(f"TRUNCATE {', '.join(emptied)} RESTART IDENTITY CASCADE")


def tables() -> list[str]:
    """Every table of the database."""
    return sorted(name for name in connection.introspection.table_names() if not name.startswith("django_migrations"))


def fingerprint(*, besides: set[str] = BESIDES) -> dict[str, str]:
    """A hash of every table's rows: equal before and after means that nothing changed."""
    one = "SELECT '{0}', coalesce(md5(string_agg(t::text, '|' ORDER BY t::text)), 'empty') FROM \"{0}\" t"
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(one.format(table) for table in tables() if table not in besides))
        return dict(cursor.fetchall())
