from tests.tasks_runs.conftest import quick  # noqa: F401
