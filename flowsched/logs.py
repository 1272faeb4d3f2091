"""How a log line looks: one line an event, UTC, whatever names and messages hold.

A rack or schedule name comes from outside; a line break in it must not look like a second event.
"""

from __future__ import annotations

import logging
import time
from typing import Final

LINE: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class OneLine(logging.Formatter):
    """Escapes control characters in the message. A traceback keeps its lines, which are indented or ours."""

    converter = time.gmtime  # type: ignore[assignment]  # the stub leaves out its default argument
    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  the base class's name
        """The line without its traceback."""
        record.message = "".join(c if c.isprintable() else repr(c)[1:-1] for c in record.message)
        return super().formatMessage(record)


def without_traceback(record: logging.LogRecord) -> bool:
    """Filter: let the line through alone. A stranger's odd request is worth a line, not twenty of our own code."""
    record.exc_info = None
    return True
