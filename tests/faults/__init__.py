import pytest

# A helper's assert that fails should show its values, as a test's does.
pytest.register_assert_rewrite(
    *(f"tests.faults.{name}" for name in ("harness", "invariants", "load", "oracles", "pgbox"))
)
