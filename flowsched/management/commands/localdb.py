"""`manage.py localdb`: the product's own PostgreSQL, when DATABASE_URL names none. It starts by itself when needed."""

from __future__ import annotations

import os
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from flowsched.cli import REFUSED, FlowCommand
from flowsched.errors import PreconditionFailed, Unavailable
from flowsched.postgres import account as accounts
from flowsched.postgres import binaries as programs
from flowsched.postgres import server
from flowsched.postgres.errors import StartFailed
from flowsched.postgres.location import DATABASE, PORT, Cluster

OTHERS = """SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"""


class Command(FlowCommand):
    """Look at, stop or enter the local database."""

    help = "Look at, stop or enter the PostgreSQL that flowsched runs when DATABASE_URL is unset."
    requires_system_checks = ()
    psql_arguments: tuple[str, ...] = ()

    def run_from_argv(self, argv: list[str]) -> None:
        """Keep psql's arguments away from our parser, which would take its options for our own."""
        if argv[2:3] == ["psql"]:
            argv, self.psql_arguments = argv[:3], tuple(argv[3:])
        super().run_from_argv(argv)

    def add_arguments(self, parser: CommandParser) -> None:
        """One word says what to do."""
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="status|stop|psql")
        super().add_arguments(verbs.add_parser("status", help="where it is and whether it runs; exit code 1 if not"))
        stop = verbs.add_parser("stop", help="stop it in an orderly way; the next connection starts it again")
        stop.add_argument("--if-idle", action="store_true", help="leave it running while others are connected")
        verbs.add_parser("psql", help="enter it with psql; further arguments are psql's")

    def run(self, **options: Any) -> int | None:
        """Do the one thing asked for."""
        cluster: Cluster | None = settings.FLOWSCHED_CLUSTER
        if cluster is None:
            raise PreconditionFailed("DATABASE_URL is set: that database is not flowsched's own to look after.")
        try:
            match options["verb"]:
                case "status":
                    return self._status(cluster, as_json=options["json"])
                case "stop":
                    return self._stop(cluster, if_idle=options["if_idle"])
                case _:
                    return self._psql(cluster)
        except StartFailed as error:
            raise Unavailable(str(error)) from error

    def _status(self, cluster: Cluster, *, as_json: bool) -> int:
        state = server.probe(cluster)
        running = state is not server.State.DOWN
        facts = {
            "state": str(state),
            "pid": server.pid(cluster) if running else None,
            "version": programs.made_by(cluster),
            "data": str(cluster.data),
            "socket": str(cluster.socket),
            "log": str(cluster.log),
            "url": f"postgresql://{DATABASE}@/{DATABASE}?host={cluster.socket_dir}&port={PORT}",
        }
        if as_json:
            self.print_json(facts)
        else:
            self.print_table(["what", "value"], list(facts.items()), empty="")
        return 0 if running else REFUSED

    def _stop(self, cluster: Cluster, *, if_idle: bool) -> int:
        if server.probe(cluster) is server.State.UP:
            with server.connect(cluster, "postgres") as connection:
                row = connection.execute(OTHERS).fetchone()
            others = int(str(row[0])) if row else 0
            if others and if_idle:
                self.stdout.write(f"left running: {others} other connections")
                return REFUSED
            if others:
                self.stderr.write(f"{others} other connections end now; a process that goes on starts it again")
        stopped = server.stop(cluster)
        self.stdout.write("stopped" if stopped else "not running")
        return 0 if stopped else REFUSED

    def _psql(self, cluster: Cluster) -> int:
        server.ensure(cluster)
        account = accounts.choose(cluster)
        psql = programs.usable_by(programs.find(settings.FLOWSCHED_PG_BIN, cluster), account, cluster) / "psql"
        if not psql.exists():
            raise PreconditionFailed(
                f"There is no psql in {psql.parent}; set FLOWSCHED_PG_BIN to a folder that has one."
            )
        target = [str(psql), "-h", str(cluster.socket_dir), "-p", PORT, "-U", DATABASE]
        # By the environment, so that a database named among the arguments wins.
        os.execve(psql, [*target, *self.psql_arguments], os.environ | {"PGDATABASE": DATABASE})  # noqa: S606
