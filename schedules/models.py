"""The schedule: when, what, under which overlap policy. Which racks is scopes/."""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now


class TaskSchedule(models.Model):
    """An operation and the times it runs at.

    `version` counts people's changes of the schedule and its scopes; a firing never raises it. `updated_at` moves
    with both.
    """

    class SpecType(models.TextChoices):
        """How `spec` is read."""

        INTERVAL = "interval"
        CRON = "cron"
        ONE_TIME = "one-time"

    class OverlapPolicy(models.TextChoices):
        """What happens to a rack whose previous task of this schedule is still active."""

        SKIP = "skip"
        QUEUE = "queue"

    class DisabledKind(models.TextChoices):
        """Why a schedule does not fire."""

        NO = "", "enabled"
        PERSON = "person"
        CONSUMED = "consumed"
        SYSTEM = "system"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=255, unique=True)
    spec_type = models.CharField(max_length=16, choices=SpecType)
    spec = models.TextField()
    timezone = models.CharField(max_length=64, default="UTC")
    operation_template = models.JSONField()
    overlap_policy = models.CharField(max_length=16, choices=OverlapPolicy, default=OverlapPolicy.SKIP)
    misfire_grace = models.DurationField(null=True, blank=True)
    enabled = models.BooleanField(default=True)
    disabled_kind = models.CharField(max_length=16, choices=DisabledKind, default="", blank=True)
    disabled_reason = models.TextField(default="", blank=True)
    disabled_by = models.CharField(max_length=255, default="", blank=True)
    disabled_at = models.DateTimeField(null=True, blank=True)
    consecutive_skips = models.IntegerField(default=0, db_default=0)  # calls in a row not made for want of an identity
    consecutive_no_effect = models.IntegerField(default=0, db_default=0)  # calls in a row that changed nothing
    next_run_at = models.DateTimeField(null=True, blank=True)
    last_run_at = models.DateTimeField(null=True, blank=True)
    version = models.IntegerField(default=1)
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "task_schedule"
        permissions = [("trigger_taskschedule", "Can trigger task schedule")]
        constraints = [
            models.CheckConstraint(
                condition=Q(spec_type__in=["interval", "cron", "one-time"]), name="task_schedule_spec_type_known"
            ),
            models.CheckConstraint(
                condition=Q(overlap_policy__in=["skip", "queue"]), name="task_schedule_overlap_policy_known"
            ),
            models.CheckConstraint(
                condition=Q(enabled=True, disabled_kind="")
                | Q(enabled=False, disabled_kind__in=["person", "consumed", "system"], disabled_at__isnull=False),
                name="task_schedule_disabled_has_reason",
            ),
            models.CheckConstraint(
                condition=Q(enabled=False) | Q(next_run_at__isnull=False), name="task_schedule_enabled_has_next_run"
            ),
        ]
        indexes = [
            models.Index(F("next_run_at"), F("id"), condition=Q(enabled=True), name="task_schedule_due"),
            models.Index(fields=["created_at", "id"], name="task_schedule_created"),
        ]

    def __str__(self) -> str:
        return self.name
