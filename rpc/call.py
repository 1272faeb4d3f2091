"""What a method of the service is given, and how it says what it is.

A method parses its request, calls one service or selector, and answers with a message. Whoever calls it has looked the
caller up, asked `access.callers.require` for `verb`, and turns what it raises into a status.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import grpc

from access.callers import Caller
from flowsched.actor import Actor, Door


@dataclass(frozen=True, slots=True)
class Call:
    """One call: who makes it, under which request id, and the server's side of it."""

    caller: Caller
    request_id: str
    context: grpc.ServicerContext

    @property
    def by(self) -> Actor:
        """Who the services are told it is."""
        return self.caller.actor(Door.GRPC, self.request_id)

    @property
    def now(self) -> datetime:
        """When the caller was looked up, by the database's clock: the `now` of everything this call does."""
        return self.caller.now


@dataclass(frozen=True, slots=True)
class Method:
    """A method of the service: the verb it takes (access/permissions), and what it does.

    `run` raises flowsched.errors. `statuses` maps the reason of an error to the status it has here, where that differs
    from the table every method shares.
    """

    verb: str
    run: Callable[[Call, Any], Any]
    statuses: Mapping[str, grpc.StatusCode] = field(default_factory=dict)
