"""Writing a planned batch: set-based statements, COPY for what is new, and what a broken constraint means.

For whatever makes inventory rows by the batch. A constraint that breaks here is a race: plans look for clashes first.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import IntegrityError

from flowsched import db
from flowsched.errors import AlreadyExists
from inventory import rows
from inventory.import_plan import TAKEN, Batch, Options
from inventory.models import Bmc, Component, Rack

_ROWS_PER_STATEMENT = 5_000
_RACK_COLUMNS = [
    "name", "manufacturer", "model", "serial_number", "description", "external_id", "location", "nvl_domain",
    "updated_at", "deleted_at",
]  # fmt: skip
_COMPONENT_COLUMNS = [*(column for column in rows.COMPONENT_COLUMNS if column != "firmware_version"), "updated_at"]


def write(batch: Batch, options: Options, *, advice: str) -> None:
    """Write `batch`. AlreadyExists, which ends with `advice`, where somebody else took a value since it was planned."""
    try:
        Rack.objects.bulk_create(batch.racks_new, batch_size=_ROWS_PER_STATEMENT)
        if batch.racks_changed:
            Rack.objects.bulk_update(batch.racks_changed, _RACK_COLUMNS)
        if options.prune and batch.omitted:
            ids = [row["id"] for row in batch.omitted]
            live = Component.objects.filter(id__in=ids, deleted_at__isnull=True)
            live.update(deleted_at=options.now, updated_at=options.now)
        _insert_components(batch.new, options.now)
        if batch.changed:
            rows.components_update(_COMPONENT_COLUMNS, batch.changed)
        if batch.changed_firmware:
            rows.components_update([*_COMPONENT_COLUMNS, "firmware_version"], batch.changed_firmware)
        _write_bmcs(batch)
    except IntegrityError as error:
        raise taken_meanwhile(error, advice=advice) from error


def _insert_components(components: Sequence[dict[str, Any]], now: datetime) -> None:
    if components:
        columns = ("id", *rows.COMPONENT_COLUMNS)
        values = ((*(row[column] for column in columns), "", now, now) for row in components)
        rows.copy_in("component", [*columns, "power_state", "created_at", "updated_at"], values)


def _write_bmcs(batch: Batch) -> None:
    if batch.bmcs_gone:
        Bmc.objects.filter(mac_address__in=batch.bmcs_gone).delete()
    if batch.bmcs_new:
        values = ((bmc.mac_address, component.id, bmc.type, bmc.ip_address) for component, bmc in batch.bmcs_new)
        rows.copy_in("bmc", ["mac_address", "component_id", "type", "ip_address"], values)
    Bmc.objects.bulk_create(
        batch.bmcs_changed,
        batch_size=_ROWS_PER_STATEMENT,
        update_conflicts=True,
        unique_fields=["mac_address"],
        update_fields=["component", "type", "ip_address"],
    )


_CONSTRAINTS = {
    "bmc_pkey": "a MAC address",
    "rack_pkey": "the id of a rack",
    "rack_name_key": "the name of a rack",
    "rack_external_id_key": "the external id of a rack",
    "rack_serial_once": "the manufacturer and serial number of a rack",
    "component_pkey": "the id of a component",
    "component_serial_once": "the manufacturer and serial number of a component",
    "component_external_id_once": "the type and external id of a component",
    "nvl_domain_pkey": "the id of an NVLink domain",
    "nvl_domain_name_key": "the name of an NVLink domain",
}


def taken_meanwhile(error: IntegrityError, *, advice: str) -> AlreadyExists:
    """What a broken constraint means: a row that somebody wrote between plan and write."""
    what = _CONSTRAINTS.get(db.constraint_of(error), "a value that must be unique")
    return AlreadyExists(f"{what} was taken by somebody else meanwhile: {advice}", reason=TAKEN)
