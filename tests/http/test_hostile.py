"""Every text of the corpus is refused, for its own reason: as written, as rendered, before a render or a request."""

import time
import tracemalloc

import pytest

from flowsched.errors import InvalidInput
from tasks.http import templates
from tasks.http.call import call_parse
from tasks.http.request import request_render
from tasks.http.templates import RenderError, template_check
from tests.http.corpus import CORPUS, HEADER_NAMES, OUTPUTS, TEMPLATES, VALUES, WRITTEN, carried, context, information

FIELDS = {
    "path": "target.path",
    "query": "target.query.q",
    "header": "target.headers.X-Env",
    "body": "target.body.outer[0].inner",
    "webhook_id": "target.webhook_id",
    "key": "policy.idempotency_key",
}


def named(entries):
    return pytest.mark.parametrize("entry", entries, ids=lambda entry: ascii(entry.name))


def test_there_are_enough_and_each_has_its_name():
    assert len(CORPUS) >= 200
    assert len({entry.name for entry in CORPUS}) == len(CORPUS)
    assert {entry.where for entry in VALUES} == set(FIELDS)


@pytest.fixture
def renders(monkeypatch):
    """The templates that were compiled or generated."""
    begun = []
    for name in ("_compiled", "_generate"):
        real = getattr(templates, name)
        monkeypatch.setattr(templates, name, lambda *args, real=real: (begun.append(args), real(*args))[1])
    return begun


@named(WRITTEN)
def test_refused_when_written(entry, renders):
    """Issue 6: 4. The operation is good but for this one field; nothing of it was evaluated."""
    with pytest.raises(InvalidInput) as caught:
        call_parse(*information(entry))
    assert list(caught.value.fields) == [FIELDS[entry.where]]
    assert entry.why in caught.value.fields[FIELDS[entry.where]]
    assert caught.value.message.isprintable()
    assert renders == []


@named(VALUES)
def test_refused_when_a_rack_brings_it(entry):
    """TH-4, TH-6: what is harmless as a template is checked again as a value."""
    call = call_parse(*carried(entry))
    with pytest.raises(RenderError) as caught:
        request_render(call, context(entry.text))
    assert caught.value.field == FIELDS[entry.where]
    assert entry.why in caught.value.message
    assert caught.value.message.isprintable()


@named(OUTPUTS)
def test_refused_by_what_it_puts_out(entry):
    call = call_parse(*information(entry))
    with pytest.raises(RenderError) as caught:
        request_render(call, context())
    assert caught.value.field == FIELDS[entry.where]
    assert entry.why in caught.value.message


@named(TEMPLATES)
def test_a_row_older_than_the_rule_is_refused_at_run_time(entry):
    """TH-8: checked at write and at fire; a stored template is not trusted."""
    assert "{" in entry.text
    with pytest.raises(RenderError, match=r"target\.path: "):
        templates.render(entry.text, context(), field="target.path")


@named(TEMPLATES + OUTPUTS)
def test_no_bomb_costs_time_or_memory(entry):
    """TH-8: less than 50 ms and 5 MB each, refused or not. The best of three, by this thread's clock."""
    took = []
    for _ in range(3):
        began = time.thread_time()
        refuse(entry)
        took.append(time.thread_time() - began)
    assert min(took) < 0.05
    tracemalloc.start()
    try:
        refuse(entry)
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["many outputs", "many elif", "many ifs", "brackets", "not not not", "if if if"])
def test_what_is_too_large_is_refused_before_it_is_parsed(name, monkeypatch):
    """The parser recurses; it never sees what nests or repeats without end."""
    monkeypatch.setattr(templates._ENVIRONMENT, "parse", lambda source: pytest.fail("parsed"))
    (entry,) = (entry for entry in TEMPLATES if entry.name == f"template: {name}")
    with pytest.raises(RenderError):
        template_check(entry.text)


def refuse(entry):
    with pytest.raises(InvalidInput):
        request_render(call_parse(*information(entry)), context())


@pytest.mark.parametrize(("name", "why"), HEADER_NAMES, ids=lambda value: ascii(value)[:40])
@pytest.mark.parametrize("value", ["plain", "{{ rack.name }}"])
def test_header_names_that_no_operation_may_set(name, why, value):
    """TH-6; the name is checked whether its value is a template or not."""
    target = {"endpoint": "inventory", "method": "GET", "path": "/v1", "headers": {name: value, "X-Env": "good"}}
    with pytest.raises(InvalidInput) as caught:
        call_parse("api", {"target": target, "identity": {"kind": "none"}})
    (message,) = caught.value.fields.values()
    assert why in message
    assert caught.value.message.isprintable()


def test_the_same_places_take_what_is_harmless():
    """The counterpart of all refusals above: each place works."""
    for entry in VALUES:
        name = "/v1/rack-1" if entry.where == "path" else "rack-1"
        request_render(call_parse(*carried(entry)), context(name))


def test_a_refused_template_leaves_nothing_behind():
    template_check("{{ rack.name }}")
    before = templates._compiled.cache_info().currsize
    for entry in TEMPLATES:
        with pytest.raises(RenderError):
            templates.render(entry.text, context())
    assert templates._compiled.cache_info().currsize == before
