"""Reading the audit trail."""

from __future__ import annotations

from uuid import UUID

from audit.models import AuditEntry


def entries_of(kind: str, object_id: UUID, *, limit: int = 50) -> list[AuditEntry]:
    """The newest `limit` entries about one object, newest first."""
    return list(AuditEntry.objects.filter(object_kind=kind, object_id=str(object_id)).order_by("-id")[:limit])
