"""Who did what through which door. Append-only: the database refuses UPDATE and DELETE."""

from __future__ import annotations

from django.db import models


class AuditEntry(models.Model):
    """One verb, done or refused."""

    id = models.BigAutoField(primary_key=True)
    at = models.DateTimeField()
    actor = models.CharField(max_length=255)
    door = models.CharField(max_length=16)
    verb = models.CharField(max_length=64)
    object_kind = models.CharField(max_length=32)
    object_id = models.CharField(max_length=64, default="", blank=True)
    object_name = models.CharField(max_length=255, default="", blank=True)
    before = models.JSONField(null=True, blank=True)
    after = models.JSONField(null=True, blank=True)
    refused = models.TextField(default="", blank=True)
    request_id = models.CharField(max_length=64, default="", blank=True)

    class Meta:
        db_table = "audit_entry"
        verbose_name_plural = "audit entries"
        indexes = [
            models.Index(fields=["object_kind", "object_id", "-id"], name="audit_entry_object"),
            models.Index(fields=["-at", "-id"], name="audit_entry_recent"),
        ]

    def __str__(self) -> str:
        return f"{self.actor} {self.verb} {self.object_kind} {self.object_name or self.object_id}"
