"""What Django loads as the database backend."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import psycopg
from django.conf import settings
from django.db.backends.base.base import NO_DB_ALIAS
from django.db.backends.postgresql import base as postgresql

from flowsched.postgres import folders, server
from flowsched.postgres.location import DATABASE, Cluster

MILLISECOND = timedelta(milliseconds=1)


class DatabaseWrapper(postgresql.DatabaseWrapper):
    """PostgreSQL with session timeouts from OPTIONS["session"], and a server made where ours is missing."""

    def get_connection_params(self) -> dict[str, Any]:
        """Add the session's timeouts, except where databases are created or dropped, which takes what it takes."""
        params: dict[str, Any] = super().get_connection_params()
        session: dict[str, timedelta] = params.pop("session", {})
        if self.alias != NO_DB_ALIAS and session:
            ours = " ".join(f"-c {name}={max(1, round(value / MILLISECOND))}" for name, value in session.items())
            params["options"] = f"{ours} {params.get('options') or ''}".strip()
        return params

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Connect; where our own server does not answer, or lacks the database, see to it and connect again."""
        cluster: Cluster | None = settings.FLOWSCHED_CLUSTER
        if cluster is None or conn_params.get("host") != str(cluster.socket_dir):
            return super().get_new_connection(conn_params)
        folders.check_socket_dir(cluster)
        try:
            return super().get_new_connection(conn_params)
        except psycopg.OperationalError as error:
            if not _mendable(cluster, conn_params, str(error)):
                raise
        server.ensure(cluster)
        return super().get_new_connection(conn_params)


def _mendable(cluster: Cluster, conn_params: dict[str, Any], said: str) -> bool:
    if f'database "{DATABASE}" does not exist' in said:
        return conn_params.get("dbname") == DATABASE
    return server.probe(cluster) is not server.State.UP
