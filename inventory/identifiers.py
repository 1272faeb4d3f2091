"""Ids, names and addresses as people and files write them: one reader each, shared by every door.

Pure. Each raises InvalidInput that shows the value (cut, control characters visible) and says what is read instead.
Wrong here means a rack that cannot be named again, or a text that the database refuses half way through a write.
"""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from uuid import UUID

from flowsched.errors import InvalidInput

MAX_NAME = 255
NO_UUID = UUID(int=0)
_HYPHENATED = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_UUID = re.compile(
    rf"(?:urn:uuid:)?{_HYPHENATED}|\{{{_HYPHENATED}\}}|[0-9a-f]{{32}}",
    re.IGNORECASE | re.ASCII,
)
_MAC = re.compile(
    r"[0-9a-f]{2}([:-])(?:[0-9a-f]{2}\1){4}[0-9a-f]{2}|(?:[0-9a-f]{4}\.){2}[0-9a-f]{4}|[0-9a-f]{12}",
    re.IGNORECASE | re.ASCII,
)
_BROKEN = frozenset({"Cc", "Cs", "Zl", "Zp"})  # control, lone surrogate, line and paragraph separator


def shown(text: str, *, most: int = 64) -> str:
    """`text` fit for a message: cut, with anything unprintable escaped."""
    cut = text if len(text) <= most else text[: most - 1] + "…"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in cut)


def uuid_or_none(text: str) -> UUID | None:
    """The UUID that `text` is, in any of the forms of F-113, or None."""
    found = _UUID.fullmatch(text)
    return UUID(re.sub(r"^urn:uuid:", "", found.group(), flags=re.IGNORECASE)) if found else None


def parse_uuid(text: str, *, field: str = "id") -> UUID:
    """The UUID that `text` is: hyphenated, bare hex, in braces, or urn:uuid:…; any letter case. Never the zero one."""
    found = uuid_or_none(text)
    if found is None:
        raise InvalidInput(f"'{shown(text)}' is not a UUID", field=field)
    return check_uuid(found, field=field)


def check_uuid(value: UUID, *, field: str = "id") -> UUID:
    """`value`, unless it is the zero UUID, which stands for an id that was never set."""
    if value == NO_UUID:
        raise InvalidInput("the zero UUID names nothing: give a real id", field=field)
    return value


def check_text(text: str, *, what: str = "text", field: str = "", most: int = MAX_NAME, lines: bool = False) -> str:
    """`text`, at most `most` characters and without control characters; `lines` lets line breaks and tabs through."""
    if len(text) > most:
        raise InvalidInput(f"{what} has {len(text)} characters: at most {most} are allowed", field=field)
    allowed = "\n\r\t" if lines else ""
    if not text.isprintable() and any(unicodedata.category(c) in _BROKEN and c not in allowed for c in text):
        raise InvalidInput(f"{what} '{shown(text)}' holds control characters: remove them", field=field)
    return text


def check_name(text: str, *, what: str = "name", field: str = "name") -> str:
    """`text` as a name: 1 to 255 characters, no control characters, no blanks around it (D-30)."""
    if not text:
        raise InvalidInput(f"{what} is empty", field=field)
    if text != text.strip():
        raise InvalidInput(f"{what} '{shown(text)}' has blanks around it: remove them", field=field)
    return check_text(text, what=what, field=field)


def parse_mac(text: str, *, field: str = "mac") -> str:
    """The MAC address that `text` is, in lower case with colons."""
    if not _MAC.fullmatch(text):
        raise InvalidInput(f"'{shown(text)}' is not a MAC address: write it as aa:bb:cc:dd:ee:ff", field=field)
    digits = re.sub(r"[^0-9a-f]", "", text.lower())
    return ":".join(digits[i : i + 2] for i in range(0, 12, 2))


def parse_ip(text: str, *, field: str = "ip") -> str:
    """The IPv4 or IPv6 address that `text` is, in its usual spelling; a zone (%eth0) means nothing elsewhere."""
    try:
        if "%" in text:
            raise ValueError  # noqa: TRY301  the same refusal as any other text
        address = ipaddress.ip_address(text)
        return str(getattr(address, "ipv4_mapped", None) or address)
    except ValueError:
        raise InvalidInput(f"'{shown(text)}' is not an IP address", field=field) from None
