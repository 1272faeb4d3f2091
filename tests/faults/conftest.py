"""One set of product processes a test, ended whatever happens, with their logs shown when the test fails."""

from __future__ import annotations

import pytest

from tests.faults.harness import Product


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    product = item.funcargs.get("product") if hasattr(item, "funcargs") else None
    if report.when == "call" and report.failed and product is not None:
        report.sections.append(("processes", product.logs()))


@pytest.fixture
def product(tmp_path):
    one = Product(tmp_path)
    yield one
    one.stop()
