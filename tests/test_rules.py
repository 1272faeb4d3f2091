"""The rules that no test names are exactly those that are known to need none."""

from pathlib import Path

from tests.rules import UNNAMED, unnamed


def test_every_rule_of_the_sections_is_named_or_explained():
    assert unnamed(Path(__file__).parent) == sorted(UNNAMED)
