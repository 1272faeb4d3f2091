"""One set of product processes a test, ended whatever happens, with their logs shown when the test fails."""

from __future__ import annotations

import pytest

from tests.faults.harness import Product
from tests.faults.pgbox import Box, pointed_at
from tests.tasks_runs.helpers import clear_jobs


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    product = item.funcargs.get("product") if hasattr(item, "funcargs") else None
    if report.when == "call" and report.failed and product is not None:
        report.sections.append(("processes", product.logs()))


@pytest.fixture
def product(tmp_path, request):
    if "boxed" in request.fixturenames:
        request.getfixturevalue("boxed")  # before the processes, so that they end while it is still there
    clear_jobs()  # of workers killed by earlier tests: the flush between tests leaves the engine's tables alone
    one = Product(tmp_path)
    yield one
    one.stop()


@pytest.fixture(scope="session")
def box(django_db_blocker):
    """A server of this run's own, made when the first test asks for it."""
    one = Box()
    try:
        with django_db_blocker.unblock():
            one.start()
        yield one
    finally:
        one.remove()


@pytest.fixture
def boxed(box, django_db_blocker):
    """The test and its processes use a fresh database on a server that the test may kill."""
    with django_db_blocker.unblock():
        box.start()
        with pointed_at(box.cluster, box.database()):
            yield box
