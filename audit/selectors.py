"""Reading the audit trail."""

from __future__ import annotations

from uuid import UUID

from audit.models import AuditEntry


def entries_of(kind: str, object_id: UUID | None, object_name: str = "", *, limit: int = 50) -> list[AuditEntry]:
    """The newest `limit` entries about one object, newest first.

    Without an id, those that `object_name` stands in: the trail of what is gone, and of what was refused a name.
    """
    entries = AuditEntry.objects.filter(object_kind=kind)
    if object_id is not None:
        entries = entries.filter(object_id=str(object_id))
    else:
        entries = entries.filter(object_name=object_name)
    return list(entries.order_by("-id")[:limit])
