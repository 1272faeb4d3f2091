"""Which racks a schedule covers: one row a rack, with an optional component filter."""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from inventory.models import Rack
from schedules.models import TaskSchedule
from tasks.models import Task


class TaskScheduleScope(models.Model):
    """One rack of a schedule, or its only row without a rack. Read in the order position, id, everywhere.

    Its foreign keys act in the database (cascade from the schedule, set null from the task): see the migration.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    schedule = models.ForeignKey(  # indexed by task_schedule_scope_rack_once
        TaskSchedule, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="scopes"
    )
    rack = models.ForeignKey(Rack, null=True, blank=True, on_delete=models.DO_NOTHING, db_index=False, related_name="+")
    component_filter = models.JSONField(null=True, blank=True)
    last_task = models.ForeignKey(
        Task, null=True, blank=True, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
    position = models.IntegerField(default=0)
    skip_streak = models.IntegerField(default=0)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "task_schedule_scope"
        constraints = [
            models.UniqueConstraint(fields=["schedule", "rack"], name="task_schedule_scope_rack_once"),
            models.UniqueConstraint(
                fields=["schedule"], condition=Q(rack__isnull=True), name="task_schedule_scope_rackless_once"
            ),
        ]
        indexes = [
            models.Index(fields=["rack"], name="task_schedule_scope_rack"),
            models.Index(
                fields=["last_task"], condition=Q(last_task__isnull=False), name="task_schedule_scope_last_task"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.schedule_id} on {self.rack_id}"
