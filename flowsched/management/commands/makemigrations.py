"""Django's `makemigrations`, which compares a running database's history but starts none for that."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.commands import makemigrations
from django.db import connection

from flowsched.postgres import server


class Command(makemigrations.Command):
    """Linting a fresh clone must not create a database."""

    def handle(self, *args: Any, **options: Any) -> str | None:
        """Leave the comparison out where our own server is not running: Django skips it for the dummy engine."""
        cluster = settings.FLOWSCHED_CLUSTER
        if cluster is None or server.probe(cluster) is server.State.UP:
            return super().handle(*args, **options)
        engine = connection.settings_dict["ENGINE"]
        connection.settings_dict["ENGINE"] = "django.db.backends.dummy"
        try:
            return super().handle(*args, **options)
        finally:
            connection.settings_dict["ENGINE"] = engine
