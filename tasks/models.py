"""A task is one operation on one rack; a run is its execution; a process is who executes and dispatches.

A hold is a time in which nothing new begins; past ones stay as its history.

History keeps ids and names by value: deleting a schedule or removing a rack rewrites nothing here.
"""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import F, Q, Value
from django.db.models.functions import Now
from django.db.models.lookups import IsNull

from tasks.states import ACTIVE, FINISHED, OPEN_RUN, RunState, TaskStatus


class Task(models.Model):
    """A unit of work. `lane` is what its order is kept by: the rack, or the schedule where there is no rack."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    type = models.CharField(max_length=64)
    code = models.CharField(max_length=64)
    executor_type = models.CharField(max_length=64)
    information = models.JSONField(default=dict)
    description = models.TextField(default="", blank=True)
    rack_id = models.UUIDField(null=True, blank=True)
    rack_name = models.CharField(max_length=255, default="", blank=True)
    schedule_id = models.UUIDField(null=True, blank=True)
    schedule_name = models.CharField(max_length=255, default="", blank=True)
    lane = models.UUIDField()
    execution_id = models.CharField(max_length=64, default="", blank=True)
    status = models.CharField(max_length=32, choices=[(s.value, s.value) for s in TaskStatus])
    message = models.TextField(default="", blank=True)
    attributes = models.JSONField(default=dict)
    idempotency_key = models.UUIDField(null=True, blank=True)
    progress_done = models.IntegerField(default=0)
    progress_total = models.IntegerField(default=0)
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now())
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    queue_expires_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "task"
        permissions = [
            ("cancel_task", "Can cancel task"),
            ("acknowledge_task", "Can acknowledge task"),
            ("use_endpoint", "Can use any endpoint for HTTP calls"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["idempotency_key"], condition=Q(idempotency_key__isnull=False), name="task_idempotency_key"
            ),
            models.CheckConstraint(condition=Q(status__in=[s.value for s in TaskStatus]), name="task_status_known"),
            models.CheckConstraint(
                condition=Q(status__in=sorted(FINISHED), finished_at__isnull=False)
                | (~Q(status__in=sorted(FINISHED)) & Q(finished_at__isnull=True)),
                name="task_finished_has_time",
            ),
            models.CheckConstraint(
                condition=Q(status=TaskStatus.WAITING.value, queue_expires_at__isnull=False)
                | (~Q(status=TaskStatus.WAITING.value) & Q(queue_expires_at__isnull=True)),
                name="task_waiting_has_expiry",
            ),
        ]
        indexes = [
            models.Index(
                fields=["lane", "created_at", "id"],
                condition=Q(status__in=sorted(ACTIVE)),
                name="task_active",
            ),
            models.Index(fields=["queue_expires_at"], condition=Q(status=TaskStatus.WAITING.value), name="task_expiry"),
            models.Index(fields=["updated_at"], condition=Q(status=TaskStatus.PENDING.value), name="task_pending"),
            models.Index(fields=["rack_id", "-created_at", "-id"], name="task_rack_recent"),
            models.Index(fields=["-created_at", "-id"], name="task_recent"),
            models.Index(fields=["finished_at"], condition=Q(finished_at__isnull=False), name="task_finished"),
            models.Index(
                fields=["schedule_id", "-created_at", "-id"], condition=Q(type="http_call"), name="task_calls"
            ),
            # How tasks ended, counted and listed: one entry, written when the task ends and never moved.
            models.Index(fields=["status", "finished_at"], condition=Q(finished_at__isnull=False), name="task_ended"),
        ]

    def __str__(self) -> str:
        return f"{self.code} on {self.rack_name or self.lane}"


class Run(models.Model):
    """One execution of a task, of up to a few attempts, held under a lease that every write compares."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    task = models.ForeignKey(Task, on_delete=models.DO_NOTHING, db_constraint=False, related_name="runs")
    state = models.CharField(max_length=16, choices=[(s.value, s.value) for s in RunState])
    executor = models.CharField(max_length=64)
    attempt = models.IntegerField(default=1)
    attempts = models.JSONField(default=list)
    results = models.JSONField(default=dict)  # component id -> outcome of its step; bounded by the rack
    # Of an HTTP call: who called what, and what came back (I-54).
    call = models.JSONField(default=dict, db_default=Value({}, models.JSONField()))
    in_flight = models.CharField(max_length=64, default="", blank=True)  # the step whose effect may be under way
    lease_owner = models.CharField(max_length=255, default="", blank=True)
    lease_token = models.UUIDField(null=True, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    cancel_requested_at = models.DateTimeField(null=True, blank=True)
    progress_done = models.IntegerField(default=0)
    progress_total = models.IntegerField(default=0)
    queued_at = models.DateTimeField()
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)
    message = models.TextField(default="", blank=True)

    class Meta:
        db_table = "run"
        constraints = [
            models.UniqueConstraint(fields=["task"], condition=Q(state__in=sorted(OPEN_RUN)), name="run_one_open"),
            models.CheckConstraint(condition=Q(state__in=[s.value for s in RunState]), name="run_state_known"),
        ]
        indexes = [
            models.Index(fields=["lease_until"], condition=Q(state=RunState.RUNNING.value), name="run_lease"),
            models.Index(fields=["lease_token"], condition=Q(state=RunState.RUNNING.value), name="run_lease_token"),
            models.Index(fields=["-queued_at", "-id"], name="run_recent"),
            # Like task_ended: one entry, written when the run ends. Those that have not ended are few.
            models.Index(
                fields=["state", "-queued_at", "-id"], condition=Q(finished_at__isnull=False), name="run_ended"
            ),
        ]

    def __str__(self) -> str:
        return f"run {self.id} of {self.task_id}"


class RunExport(models.Model):
    """A finished run that ClickHouse has not acknowledged: the outbox. One row each time that a run was written.

    `written_at` is the version of what is sent: of two rows of a run the later one wins. A named constraint of the
    database (`run_export_run`) keeps the run for as long as its row is here.
    """

    run = models.ForeignKey(Run, on_delete=models.DO_NOTHING, db_constraint=False, related_name="exports")
    written_at = models.DateTimeField()

    class Meta:
        db_table = "run_export"

    def __str__(self) -> str:
        return f"run {self.run_id}, to be exported"


class Process(models.Model):
    """A dispatcher or worker that is or was alive; its last beat says which."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    kind = models.CharField(max_length=16)
    host = models.CharField(max_length=255)
    pid = models.IntegerField()
    version = models.CharField(max_length=32)
    state = models.CharField(max_length=16, default="running")
    detail = models.JSONField(default=dict)
    started_at = models.DateTimeField()
    last_beat = models.DateTimeField()

    class Meta:
        db_table = "process"
        verbose_name_plural = "processes"
        indexes = [models.Index(fields=["kind", "-last_beat"], name="process_recent")]

    def __str__(self) -> str:
        return f"{self.kind} {self.host}:{self.pid}"


class Hold(models.Model):
    """One time in which nothing was claimed, submitted or begun: why, by whom, from when until when."""

    reason = models.TextField()
    held_by = models.CharField(max_length=255)
    held_at = models.DateTimeField()
    released_by = models.CharField(max_length=255, default="", blank=True)
    released_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "hold"
        constraints = [
            models.UniqueConstraint(
                IsNull(F("released_at"), True), condition=Q(released_at__isnull=True), name="hold_one_open"
            ),
        ]

    def __str__(self) -> str:
        return f"hold of {self.held_at:%Y-%m-%d %H:%M:%S} by {self.held_by}: {self.reason}"
