"""Racks, their components and BMCs, and the NVLink domains that span racks.

Rows leave by soft delete (`deleted_at`): scopes and history keep pointing at them and say why they fail. BMC
credentials have no column, on purpose.
"""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from inventory.components import BmcType, ComponentType, PowerState


class NVLDomain(models.Model):
    """A group of racks that share an NVLink fabric."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=255, unique=True)
    external_id = models.CharField(max_length=255, null=True, blank=True, unique=True)
    created_at = models.DateTimeField(db_default=Now())
    deleted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "nvl_domain"
        verbose_name = "NVLink domain"

    def __str__(self) -> str:
        return self.name


class Rack(models.Model):
    """A rack. Its row is the lock under which tasks on it are admitted, promoted and finished."""

    class Status(models.TextChoices):
        """How far the rack has come into service."""

        NEW = "new"
        INGESTING = "ingesting"
        INGESTED = "ingested"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=255, unique=True)
    manufacturer = models.CharField(max_length=255, default="", blank=True)
    model = models.CharField(max_length=255, default="", blank=True)
    serial_number = models.CharField(max_length=255)
    description = models.TextField(default="", blank=True)
    external_id = models.CharField(max_length=255, null=True, blank=True, unique=True)
    location = models.JSONField(default=dict, blank=True)
    nvl_domain = models.ForeignKey(
        NVLDomain, null=True, blank=True, on_delete=models.DO_NOTHING, related_name="racks", db_column="nvldomain_id"
    )
    status = models.CharField(max_length=16, choices=Status, default=Status.NEW)
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now())
    ingested_at = models.DateTimeField(null=True, blank=True)
    deleted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "rack"
        constraints = [
            models.UniqueConstraint(fields=["manufacturer", "serial_number"], name="rack_serial_once"),
            models.CheckConstraint(condition=Q(status__in=["new", "ingesting", "ingested"]), name="rack_status_known"),
        ]

    def __str__(self) -> str:
        return self.name


class Component(models.Model):
    """A tray, switch, shelf or other part of a rack that operations act on."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    rack = models.ForeignKey(
        Rack, null=True, blank=True, on_delete=models.DO_NOTHING, db_index=False, related_name="components"
    )
    type = models.CharField(
        max_length=16, choices=[(t.value, t.value) for t in ComponentType], default=ComponentType.COMPUTE.value
    )
    name = models.CharField(max_length=255)
    manufacturer = models.CharField(max_length=255, default="", blank=True)
    model = models.CharField(max_length=255, default="", blank=True)
    serial_number = models.CharField(max_length=255)
    description = models.TextField(default="", blank=True)
    external_id = models.CharField(max_length=255, null=True, blank=True)  # noqa: DJ001  several may have none
    firmware_version = models.CharField(max_length=255, default="", blank=True)
    power_state = models.CharField(
        max_length=8, choices=[(s.value, s.value) for s in PowerState], default=PowerState.UNSET.value, blank=True
    )
    slot_id = models.IntegerField(default=-1)
    tray_index = models.IntegerField(default=-1)
    host_id = models.IntegerField(default=-1)
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now())
    ingested_at = models.DateTimeField(null=True, blank=True)
    deleted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "component"
        constraints = [
            models.UniqueConstraint(fields=["manufacturer", "serial_number"], name="component_serial_once"),
            models.UniqueConstraint(
                fields=["type", "external_id"],
                condition=Q(external_id__isnull=False),
                name="component_external_id_once",
            ),
            models.CheckConstraint(condition=Q(type__in=[t.value for t in ComponentType]), name="component_type_known"),
            models.CheckConstraint(
                condition=Q(power_state__in=[s.value for s in PowerState]), name="component_power_state_known"
            ),
        ]
        indexes = [
            # A rack's components, wherever a task is admitted or a rack shown: only live ones count.
            models.Index(fields=["rack"], condition=Q(deleted_at__isnull=True), name="component_of_rack"),
        ]

    def __str__(self) -> str:
        return self.name


class Bmc(models.Model):
    """A management controller of a component: where it is, never how to log in."""

    mac_address = models.CharField(max_length=17, primary_key=True)
    component = models.ForeignKey(Component, on_delete=models.DO_NOTHING, db_constraint=False, related_name="bmcs")
    type = models.CharField(max_length=8, choices=[(t.value, t.value) for t in BmcType], default=BmcType.UNKNOWN.value)
    ip_address = models.GenericIPAddressField(null=True, blank=True)

    class Meta:
        db_table = "bmc"
        verbose_name = "BMC"

    def __str__(self) -> str:
        return self.mac_address
