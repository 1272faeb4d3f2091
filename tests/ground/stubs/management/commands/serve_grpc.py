"""The same for the grpc door."""

from tests.ground.stubs.management.commands import run_dispatcher


class Command(run_dispatcher.Command):
    name = "serve_grpc"
