"""Look first, act by POST: the page between a button and a verb.

The form carries what the viewer saw: the version of the row, a digest of the racks, and a nonce. Where either has
changed by the time of the POST nothing is done and the page is shown again with what changed. The nonce is the
request's id: sent twice, by a double click or a reload, it does nothing twice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID, uuid4

from django.http import HttpRequest

from flowsched.errors import InvalidInput
from inventory.identifiers import parse_uuid

TYPED_ABOVE: Final = 10  # racks of a disruptive verb, above which their number is typed
NAMED: Final = 12  # racks of a difference


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What a confirmation page says and checks. `seen` is whatever must not have changed meanwhile."""

    title: str
    button: str
    back: str
    back_label: str = "Cancel"  # says what it keeps where the verb itself is one of ending
    says: Sequence[str] = ()
    notes: Sequence[str] = ()
    racks: Sequence[str] = ()
    listed: Sequence[str] = ()  # what it acts on, a line each
    seen: Mapping[str, str] = field(default_factory=dict)
    disruptive: bool = False
    reason_asked: bool = False
    reason_required: bool = False
    fields: Mapping[str, str] = field(default_factory=dict)  # further hidden inputs

    @property
    def typed(self) -> int:
        """The number to type; 0 for none."""
        return len(self.racks) if self.disruptive and len(self.racks) > TYPED_ABOVE else 0

    @property
    def digest(self) -> str:
        """Of all that the viewer decided on."""
        text = repr((sorted(self.seen.items()), sorted(self.racks)))
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def context(self, *, error: str = "", moved: str = "", reason: str = "") -> dict[str, Any]:
        """What `console/confirm.html` shows."""
        return {
            "title": self.title,
            "button": self.button,
            "back": self.back,
            "back_label": self.back_label,
            "says": self.says,
            "notes": self.notes,
            "racks": self.racks,
            "listed": self.listed,
            "typed": self.typed,
            "disruptive": self.disruptive,
            "reason_asked": self.reason_asked,
            "reason_required": self.reason_required,
            "reason": reason,
            "error": error,
            "moved": moved,
            "hidden": {**self.fields, "seen": self.digest, "nonce": str(uuid4()), "were": "\n".join(self.racks)},
        }


@dataclass(frozen=True, slots=True)
class Confirmed:
    """What the viewer sent: the id under which the verb is done once, and the reason."""

    nonce: UUID
    reason: str


class Moved(Exception):
    """What the viewer decided on is not what is there now."""


def confirmed(request: HttpRequest, expected: Confirmation) -> Confirmed:
    """Check the POST of a confirmation page. Raises Moved, InvalidInput (number, reason, nonce)."""
    if request.POST.get("seen") != expected.digest:
        raise Moved
    if expected.typed and request.POST.get("typed", "").strip() != str(expected.typed):
        raise InvalidInput(f"type {expected.typed}, the number of racks, to go on", field="typed")
    reason = request.POST.get("reason", "").strip()
    if expected.reason_required and not reason:
        raise InvalidInput("give a reason: it is shown to everyone who looks at this", field="reason")
    return Confirmed(parse_uuid(request.POST.get("nonce", ""), field="nonce"), reason)


def difference(request: HttpRequest, expected: Confirmation) -> str:
    """What is different from what the viewer saw. Their racks come back with the form, to be shown and for no more."""
    were = set(request.POST.get("were", "").replace("\r", "").split("\n")) - {""}
    are = set(expected.racks)
    if not were or were == are:
        return "This is how it is now."
    parts = (("No longer among its racks", were - are), ("New among its racks", are - were))
    return " ".join(f"{words}: {_names(sorted(names))}." for words, names in parts if names)


def _names(names: Sequence[str]) -> str:
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more} more" if more > 0 else "")
