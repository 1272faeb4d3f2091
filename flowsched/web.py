"""The web doors under gunicorn: its configuration (`gunicorn --config python:flowsched.web flowsched.wsgi`).

`manage.py serve_web` starts it. Threads, because most requests wait for the database; processes, because one holds a
single core. A request is bounded by the database's own timeouts, so that a thread always comes back; a worker whose
main loop stands still is replaced. SIGTERM lets requests in hand end within the drain time.
"""

from __future__ import annotations

import json
import os
import socket
from typing import Any

from gunicorn import util
from gunicorn.glogging import Logger

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "flowsched.settings")

from django.conf import settings
from django.urls import get_resolver

from flowsched.logs import LINE, OneLine

bind = settings.FLOWSCHED_WEB_BIND
workers = settings.FLOWSCHED_WEB_WORKERS
threads = settings.FLOWSCHED_WEB_THREADS
worker_class = "gthread"
worker_connections = 200  # of one worker, idle ones included
backlog = 512
timeout = 30  # seconds without a sign of life from a worker's main loop
graceful_timeout = int(settings.FLOWSCHED_DRAIN_TIMEOUT.total_seconds())
keepalive = 5
limit_request_line = 8190
limit_request_fields = 100
limit_request_field_size = 8190
forwarded_allow_ips = ",".join(settings.FLOWSCHED_WEB_TRUSTED_PROXIES)  # who may say that a request came by HTTPS
errorlog = "-"
accesslog = "-" if settings.FLOWSCHED_WEB_ACCESS_LOG else None
access_log_format = "%(h)s %(m)s %(U)s %(s)s %(B)s bytes %(M)s ms %({x-request-id}o)s"
control_socket_disable = True  # the supervisor is told by signals


class Log(Logger):  # type: ignore[misc]  # gunicorn has no types
    """gunicorn's own lines, in the shape of all others: a path with a line break in it stays one line."""

    def setup(self, cfg: Any) -> None:
        """Set it up."""
        super().setup(cfg)
        form = OneLine(LINE)
        for handler in [*self.error_log.handlers, *self.access_log.handlers]:
            handler.setFormatter(form)


logger_class = Log


def post_worker_init(worker: Any) -> None:
    """Problems in JSON also where gunicorn refuses a request before Django sees it; and no first request that waits."""
    del worker
    util.write_error = write_problem
    assert get_resolver().url_patterns  # reading them loads the views


def write_problem(sock: socket.socket, status: int, reason: str, message: str) -> None:
    """Answer a request that could not be read, and end its connection."""
    from flowsched.rest.problems import MEDIA_TYPE, problem  # noqa: PLC0415  the framework's parts need loaded apps

    text = json.dumps(problem(reason.lower().replace(" ", "_"), status, reason, message[:500], ""))
    head = [
        f"HTTP/1.1 {status} {reason}",
        "Connection: close",
        f"Content-Type: {MEDIA_TYPE}",
        f"Content-Length: {len(text)}",
    ]
    util.write_nonblock(sock, "\r\n".join([*head, "", text]).encode("latin1"))
