"""The durable record of a firing: what came due, what became of each rack, and who is finishing it.

`firing_tick_once` makes a second firing of a tick impossible; the lease token makes a write by a process that lost
its lease impossible. Ids and names are kept by value: deleting a schedule, scope or rack leaves history readable.
"""

from __future__ import annotations

from django.db import models
from django.db.models import Q


class Firing(models.Model):
    """One time a schedule came due, or was triggered by hand."""

    class Cause(models.TextChoices):
        """Time or a person."""

        AUTOMATIC = "automatic"
        MANUAL = "manual"

    class State(models.TextChoices):
        """`open` until every scope has its outcome and the outcome is written back."""

        OPEN = "open"
        DONE = "done"
        FAILED = "failed"

    id = models.BigAutoField(primary_key=True)
    key = models.UUIDField(unique=True)
    schedule_id = models.UUIDField()
    schedule_name = models.CharField(max_length=255)
    cause = models.CharField(max_length=16, choices=Cause)
    due_at = models.DateTimeField()
    fired_at = models.DateTimeField()
    actor = models.CharField(max_length=255)
    operation_template = models.JSONField(null=True)
    conflict_strategy = models.CharField(max_length=8, default="reject")
    queue_timeout = models.DurationField(null=True, blank=True)
    misfire_grace = models.DurationField(null=True, blank=True)
    state = models.CharField(max_length=8, choices=State, default=State.OPEN)
    reason = models.TextField(default="", blank=True)
    submitted_count = models.IntegerField(default=0)
    skipped_count = models.IntegerField(default=0)
    rejected_count = models.IntegerField(default=0)
    missed_count = models.IntegerField(default=0)
    failed_count = models.IntegerField(default=0)
    takeovers = models.IntegerField(default=0)
    lease_owner = models.CharField(max_length=255, default="", blank=True)
    lease_token = models.UUIDField(null=True, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "firing"
        constraints = [
            models.UniqueConstraint(
                fields=["schedule_id", "due_at"], condition=Q(cause="automatic"), name="firing_tick_once"
            ),
            models.CheckConstraint(
                condition=Q(closed_at__isnull=True, state="open") | (Q(closed_at__isnull=False) & ~Q(state="open")),
                name="firing_closed_has_time",
            ),
        ]
        indexes = [
            models.Index(fields=["lease_until"], condition=Q(closed_at__isnull=True), name="firing_open"),
            models.Index(fields=["schedule_id"], condition=Q(closed_at__isnull=True), name="firing_open_by_schedule"),
            models.Index(fields=["schedule_id", "-fired_at", "-id"], name="firing_history"),
        ]

    def __str__(self) -> str:
        return f"{self.schedule_name} due {self.due_at:%Y-%m-%d %H:%M:%S}"


class FiringScope(models.Model):
    """What one firing did about one rack, with the reason."""

    class State(models.TextChoices):
        """Outcome of the scope; how the operation itself ended is the task's status."""

        PENDING = "pending"
        SUBMITTED = "submitted"
        SKIPPED = "skipped"
        REJECTED = "rejected"
        MISSED = "missed"
        FAILED = "failed"

    id = models.BigAutoField(primary_key=True)
    firing = models.ForeignKey(
        Firing, on_delete=models.DO_NOTHING, db_constraint=False, related_name="scopes", db_index=False
    )
    scope_id = models.UUIDField()
    rack_id = models.UUIDField(null=True, blank=True)
    rack_name = models.CharField(max_length=255, default="", blank=True)
    position = models.IntegerField(default=0)
    component_filter = models.JSONField(null=True, blank=True)
    key = models.UUIDField()
    state = models.CharField(max_length=16, choices=State, default=State.PENDING)
    reason_code = models.CharField(max_length=32, default="", blank=True)
    reason = models.TextField(default="", blank=True)
    task_id = models.UUIDField(null=True, blank=True)

    class Meta:
        db_table = "firing_scope"
        constraints = [
            models.UniqueConstraint(fields=["firing", "scope_id"], name="firing_scope_once"),
            models.CheckConstraint(
                condition=Q(state="submitted", task_id__isnull=False)
                | (~Q(state="submitted") & Q(task_id__isnull=True)),
                name="firing_scope_submitted_has_task",
            ),
        ]
        indexes = [
            models.Index(fields=["rack_id", "-id"], name="firing_scope_rack"),
            models.Index(fields=["task_id"], condition=Q(task_id__isnull=False), name="firing_scope_task"),
        ]

    def __str__(self) -> str:
        return f"{self.rack_name}: {self.state}"
