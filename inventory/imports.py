"""Importing racks: all or nothing, idempotent by id, in batches.

One transaction and one audit row an import. A fault of any rack leaves nothing of the others; what an import does not
say (power states, omitted components) stays. A constant number of statements a batch of racks.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction

from audit.services import Verb, verb
from flowsched import db
from flowsched.actor import Actor
from flowsched.errors import AlreadyExists, Busy, PreconditionFailed
from inventory.document import Document, RackDocument
from inventory.import_plan import IN_OTHER_RACK, RACKS_PER_BATCH, TAKEN, Batch, Options, plan_batch
from inventory.models import NVLDomain
from inventory.reading import Report
from inventory.writing import write

IMPORT_LOCK = 7_305_816_220_001  # advisory: two imports at a time would plan against each other's unwritten rows
NAMES_SHOWN = 10
NAMES_AUDITED = 100


@dataclass(slots=True)
class Counts:
    """What happened to the rows of one kind. `kept` and `pruned` are those that the file omits."""

    created: int = 0
    updated: int = 0
    unchanged: int = 0
    kept: int = 0
    pruned: int = 0


@dataclass(frozen=True, slots=True)
class ImportSummary:
    """What an import did, or would do."""

    racks: Counts
    components: Counts
    domains_created: tuple[str, ...]
    warnings: tuple[str, ...]
    dry_run: bool = False

    @property
    def changed(self) -> bool:
        """Whether anything was written."""
        counts = (self.racks, self.components)
        return bool(self.domains_created) or any(c.created + c.updated + c.pruned for c in counts)


def racks_import(
    *,
    document: Document,
    by: Actor,
    now: datetime,
    prune: bool = False,
    dry_run: bool = False,
    keep_firmware: bool = False,
    verb_name: str = "rack.import",
) -> ImportSummary:
    """Bring the inventory to what `document` says of its racks. Clashes with other rows are refused with their place.

    `prune` removes the components of these racks that the document omits. `dry_run` says what would happen, writes
    nothing and leaves no audit row.
    """
    components = [component for rack in document.racks for component in rack.components]
    options = Options(
        now=now,
        prune=prune,
        keep_firmware=keep_firmware,
        components=frozenset(component.id for component in components),
        macs=frozenset(bmc.mac_address for component in components for bmc in component.bmcs),
    )
    if dry_run:
        with db.translate(), transaction.atomic():
            summary, _ = _import(document, options, dry_run=True)
            transaction.set_rollback(True)  # takes back the domains that planning needed
        return summary
    with verb(verb_name, by=by, kind="inventory", now=now, object_name=document.source) as done:
        summary, batches = _import(document, options, dry_run=False)
        _record(done, summary, batches)
    return summary


def _import(document: Document, options: Options, *, dry_run: bool) -> tuple[ImportSummary, list[Batch]]:
    _only_one_at_a_time()
    domains, created = _domains(document.racks, options.now)
    report = Report(document.source)
    racks = sorted(document.racks, key=lambda rack: rack.id)  # locks go by id, across batches too
    batches = [
        plan_batch(racks[start : start + RACKS_PER_BATCH], domains=domains, options=options, report=report)
        for start in range(0, len(racks), RACKS_PER_BATCH)
    ]
    _refuse(report)
    if not options.prune:
        _refuse_crowded(racks, batches)
    if not dry_run:
        for batch in batches:
            write(batch, options, advice="import again")
    return _summary(document, batches, created, options, dry_run=dry_run), batches


def _only_one_at_a_time() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [IMPORT_LOCK])
        if not cursor.fetchone()[0]:
            raise Busy("another import is under way; try again when it is done")


def _domains(racks: Sequence[RackDocument], now: datetime) -> tuple[dict[str, UUID], tuple[str, ...]]:
    """Ids of the domains that `racks` name, those not there created, removed ones brought back."""
    names = sorted({rack.nvl_domain for rack in racks if isinstance(rack.nvl_domain, str)})
    if not names:
        return {}, ()
    known = {domain.name: domain for domain in NVLDomain.objects.filter(name__in=names)}
    missing = [NVLDomain(name=name, created_at=now) for name in names if name not in known]
    NVLDomain.objects.bulk_create(missing)
    gone = [domain.id for domain in known.values() if domain.deleted_at is not None]
    if gone:
        NVLDomain.objects.filter(id__in=gone, deleted_at__isnull=False).update(deleted_at=None)
    found = known | {domain.name: domain for domain in missing}
    return {name: domain.id for name, domain in found.items()}, tuple(domain.name for domain in missing)


def _refuse(report: Report) -> None:
    if report.faults:
        text = "\n".join(report.lines())
        if report.codes == {TAKEN}:
            raise AlreadyExists(text, reason=TAKEN)
        raise PreconditionFailed(text, reason=IN_OTHER_RACK)


def _refuse_crowded(racks: Sequence[RackDocument], batches: Sequence[Batch]) -> None:
    """Components that a file omits are kept: file after file a rack must not grow beyond its limit."""
    limit = settings.FLOWSCHED_MAX_COMPONENTS_PER_RACK
    kept = Counter(row["rack_id"] for batch in batches for row in batch.omitted)
    for rack in racks:
        if kept[rack.id] and kept[rack.id] + len(rack.components) > limit:
            raise PreconditionFailed(
                f"rack '{rack.name}' would have {kept[rack.id] + len(rack.components)} components, more than the limit "
                f"of {limit} a rack (FLOWSCHED_MAX_COMPONENTS_PER_RACK): {kept[rack.id]} that the file omits are kept; "
                "name them, or remove them with --prune",
                reason="TOO_MANY_COMPONENTS",
            )


def _summary(
    document: Document, batches: Sequence[Batch], created: tuple[str, ...], options: Options, *, dry_run: bool
) -> ImportSummary:
    racks, components = Counts(), Counts()
    for batch in batches:
        racks.created += len(batch.racks_new)
        racks.updated += len(batch.racks_changed)
        racks.unchanged += batch.racks_same
        components.created += len(batch.new)
        components.updated += len(batch.changed) + len(batch.changed_firmware)
        components.unchanged += batch.same
    omitted = sum(len(batch.omitted) for batch in batches)
    if options.prune:
        components.pruned = omitted
    else:
        components.kept = omitted
    notes = document.warnings + tuple(_notes(batches, options))
    return ImportSummary(racks, components, created, notes, dry_run)


def _notes(batches: Sequence[Batch], options: Options) -> Iterator[str]:
    revived = sum(batch.revived for batch in batches)
    if revived:
        yield f"{revived} removed racks or components are in the file and brought back"
    omitted = [row for batch in batches for row in batch.omitted]
    if omitted and not options.prune:
        names = [f"{row['name']} in {row['rack_name']}" for row in omitted[:NAMES_SHOWN]]
        more = f" and {len(omitted) - NAMES_SHOWN} more" if len(omitted) > NAMES_SHOWN else ""
        yield f"{len(omitted)} components that the file omits are kept ({', '.join(names)}{more}): --prune removes them"


def _record(done: Verb, summary: ImportSummary, batches: Sequence[Batch]) -> None:
    """What the audit trail keeps of an import: counts, and the first names."""
    done.changed = summary.changed
    written = [rack.name for batch in batches for rack in (*batch.racks_new, *batch.racks_changed)]
    done.after = dataclasses.asdict(summary) | {"racks_written": written[:NAMES_AUDITED]}
    done.after.pop("dry_run")
