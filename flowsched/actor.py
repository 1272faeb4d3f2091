"""Who acts, and through which door: nobody acts unidentified (D-22)."""

from __future__ import annotations

import getpass
import re
import uuid
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")


class Door(StrEnum):
    """The ways in. `system` is the product itself: dispatcher, worker, chores."""

    ADMIN = "admin"
    REST = "rest"
    GRPC = "grpc"
    CLI = "cli"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True)
class Actor:
    """Whoever asked for a verb. `request_id` ties its audit rows to one request; empty where there is none."""

    name: str
    door: Door
    request_id: str = ""

    @classmethod
    def cli(cls, request_id: str = "") -> Actor:
        """The operating system's user at the command line."""
        return cls(f"cli:{_os_user()}", Door.CLI, request_id)


SYSTEM = Actor("system", Door.SYSTEM)


def request_id_from(*given: object) -> str:
    """A request's id: the first given that is one (1 to 64 letters, digits, `.`, `_`, `-`), or one of ours."""
    found = (one for one in given if isinstance(one, str) and _REQUEST_ID.fullmatch(one))
    return next(found, None) or uuid.uuid4().hex


def _os_user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a uid without a passwd entry, usual in containers
        return "unknown"
