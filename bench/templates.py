"""How long the slowest refusal and the slowest render take: `bin/bench templates`.

The texts are those of tests/http/corpus.py, written into an operation each; the templates that are rendered are legal
ones at the limits. A render is timed with its template known and with it new, since a worker that starts knows none.
The peer in the same run is Jinja's sandbox as it comes, which refuses nothing of this and counts nothing.
"""

from __future__ import annotations

import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from jinja2 import StrictUndefined
from jinja2.sandbox import ImmutableSandboxedEnvironment

from flowsched.errors import InvalidInput
from tasks.http.call import call_parse
from tasks.http.filters import FILTERS
from tasks.http.request import request_render
from tasks.http.scrub import scrub
from tasks.http.templates import render
from tests.http.corpus import CORPUS, TEMPLATES, WRITTEN, context, information

REPEATS = 5
LEGAL = {
    "plain": "/v1/racks",
    "one name": "/v1/racks/{{ rack.name }}",
    "date": "{{ now|date('%Y-%m-%d') }}",
    "if": "{% if rack.name == 'rack-1' %}{{ rack.id }}{% else %}{{ task.id }}{% endif %}",
    "most outputs": "{{now}}" * 240,
    "most ifs": "{% if rack %}a{% elif 1 %}b{% endif %}" * 60,
    "deepest if": "{% if rack %}" * 14 + "a" + "{% endif %}" * 14,
    "deepest chain": "{{ now" + "|upper" * 28 + " }}",
    "longest": "{{ now }}" + "a" * 4070,
    "most JSON": "{{ components|tojson }}",
}


def best_ms(call: Callable[[], object]) -> float:
    """Return the best of a few runs in milliseconds: the rest is the machine's noise."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times) * 1000


def growth_kb(call: Callable[[], object]) -> float:
    """Return the most memory that a call held, in KB."""
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1000


def refused(code: str, stored: Mapping[str, Any]) -> None:
    """Do what a write and then a run do; one of the two has to refuse."""
    try:
        request_render(call_parse(code, stored), context())
    except InvalidInput:
        return
    raise SystemExit("accepted what has to be refused")


def report_refusals() -> None:
    """Print what refusing costs: reading the whole operation, and rendering it where reading lets it pass."""
    rows = []
    for entry in CORPUS:
        call = partial(refused, *information(entry))
        rows.append((best_ms(call), growth_kb(call), entry.name))
    slowest, largest = max(rows), max(rows, key=lambda row: row[1])
    print(f"{len(rows)} texts refused, {len(WRITTEN)} of them when written, {len(TEMPLATES)} of them templates")
    print(f"slowest refusal                 {slowest[0]:.3f} ms: {slowest[2]}")
    print(f"median refusal                  {statistics.median(row[0] for row in rows):.3f} ms")
    print(f"most memory                     {largest[1]:.0f} KB: {largest[2]}")


def report_renders() -> None:
    """Print what rendering costs, and what Jinja's sandbox takes for the same."""
    stock = ImmutableSandboxedEnvironment(undefined=StrictUndefined)
    stock.filters.update({name: row.function for name, row in FILTERS.items()})
    values = context()
    values["components"] = [{"id": "0" * 36, "name": f"node-{n}", "type": "Compute"} for n in range(700)]
    rows = []
    for name, source in LEGAL.items():
        remarks = iter(range(REPEATS))
        new = best_ms(lambda source=source, remarks=remarks: render(f"{source}{{# {next(remarks)} #}}", values))
        known = best_ms(partial(render, source, values))
        rows.append((new, known, best_ms(lambda source=source: stock.from_string(source).render(values)), name))
    new, _, peer, name = max(rows)
    print(f"slowest render, template new    {new:.3f} ms: {name}; the sandbox alone {peer:.3f} ms")
    known = max(rows, key=lambda row: row[1])
    print(f"slowest render, template known  {known[1]:.3f} ms: {known[3]}")
    print(f"one name, template known        {next(row[1] for row in rows if row[3] == 'one name'):.4f} ms")


def report_scrub() -> None:
    """Print what scrubbing a full excerpt costs."""
    known = ["client-secret-of-some-length", "x" * 900]
    dull = '{"id": 5, "state": "on", "name": "rack-1"}, ' * 186
    worst = "[token]" * 1170
    print(f"scrub 8 KiB of JSON             {best_ms(lambda: scrub(dull, known)):.3f} ms")
    print(f"scrub 8 KiB of the worst        {best_ms(lambda: scrub(worst, known)):.3f} ms")


if __name__ == "__main__":
    report_refusals()
    report_renders()
    report_scrub()
