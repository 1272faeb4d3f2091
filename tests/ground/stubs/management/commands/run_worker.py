"""The same for the worker."""

from tests.ground.stubs.management.commands import run_dispatcher


class Command(run_dispatcher.Command):
    name = "run_worker"
