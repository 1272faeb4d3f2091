"""D-25, TH-7, TH-8: what templates give, where they stop, and that nothing else ever comes out of them."""

import time
import tracemalloc

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from jinja2 import Environment, StrictUndefined

from flowsched.errors import InvalidInput
from tasks.http.filters import FILTERS, MAX_OUTPUT
from tasks.http.syntax import CONTEXT, MAX_SOURCE
from tasks.http.templates import RenderError, literal_prefix, literals, render, render_value, template_check
from tests.http.corpus import context

STOCK = Environment(undefined=StrictUndefined, keep_trailing_newline=True)

RENDERED = [
    ("plain", "plain"),
    ("100 % {sure} }}", "100 % {sure} }}"),
    ("line\r\nend\n", "line\r\nend\n"),
    ("{{ rack.name }}\n", "rack-1\n"),
    ("{{ rack['name'] }}", "rack-1"),
    ("a{# a remark #}b", "ab"),
    ("{{ components[0].name }}/{{ components[-1].type }}", "node-1/NVSwitch"),
    ("{{ components|length }}", "2"),
    ("{{ rack.name|upper }}", "RACK-1"),
    ("{{ 'ABC'|lower }}", "abc"),
    ("{{ ' 12 '|int }}", "12"),
    ("{{ '42.9'|int }}", "42"),
    ("{{ rack.name|int(7) }}", "7"),
    ("{{ rack.name|int(none)|default('x', true) }}", "x"),
    ("{{ last_run|default('never', true) }}", "never"),
    ("{{ last_run|default('never') }}", ""),
    ("{{ last_run or 'never' }}", "never"),
    ("{{ now|date('%Y-%m-%d %H:%M:%S %j %y %u %%') }}", "2026-03-01 12:00:00 060 26 7 %"),
    ("{{ '2026-03-01T01:30:00+02:00'|date('%d %H') }}", "28 23"),
    ("{{ '2026-03-01'|date('%d %H') }}", "01 00"),
    ("{{ rack.name|tojson }}", '"rack-1"'),
    ('{{ "<\'&"|tojson }}', '"<\'&"'),
    ("{{ rack|tojson }}", '{"id": "7f3c2f60-0000-4000-8000-000000000004", "name": "rack-1"}'),
    ("{% if rack.name == 'rack-1' and not last_run %}yes{% else %}no{% endif %}", "yes"),
    ("{% if rack.name == 'x' %}1{% elif 'ck' in rack.name %}2{% endif %}", "2"),
    ("{{ 'a' if components else 'b' }}", "a"),
    ("{{ -1 }} {{ 1.5 }}", "-1 1.5"),
    ("{% raw %}{{ rack.name }}{% endraw %}", "{{ rack.name }}"),
    ("  {{- rack.name -}}  ", "rack-1"),
]


@pytest.mark.parametrize(("source", "expected"), RENDERED)
def test_rendered(source, expected):
    """I-41: a text without marks is untouched."""
    template_check(source)
    assert render(source, context()) == expected


STOPPED = [
    ("{{ rack.name }}", {"rack": {}}, "no 'name' here; there is nothing"),
    ("{{ rack.name }}", {"rack": {"id": "1"}}, "no 'name' here; there is id"),
    ("{{ components[0].name }}", {"components": []}, "the list has 0 entries"),
    ("{{ now }}", {"now": None}, "null, not text or a number: use default(…, true)"),
    ("{{ now }}", {"now": True}, "true or false"),
    ("{{ now }}", {"now": float("nan")}, "an infinite number"),
    ("{{ now }}", {"now": object()}, "something unknown"),
    ("{{ now|tojson }}", {"now": float("inf")}, "no plain data"),
    ("{{ now|tojson }}", {"now": object()}, "no plain data"),
    ("{{ now|length }}", {"now": 5}, "text, a list or an object"),
    ("{{ now|date('%Y') }}", {"now": "yesterday"}, "ISO 8601"),
    ("{{ now|date('%Y') }}", {"now": ""}, "ISO 8601"),
    ("{{ now|date('%Y') }}", {"now": "0001-01-01T00:00:00+14:00"}, "ISO 8601"),
    ("{{ now|int }}", {"now": "nan"}, "whole number"),
    ("{{ now|int }}", {"now": "9" * 30}, "whole number"),
    ("{{ now|int }}", {"now": "9" * 60000}, "whole number"),
    ("{{ now }}", {"now": "a" * (MAX_OUTPUT + 1)}, "more than 64 KiB"),
    ("{{ now|upper }}", {"now": "\u00df" * (MAX_OUTPUT // 2 + 1)}, "more than 64 KiB"),
    ("{{ now|upper|length }}", {"now": "\u0390" * (MAX_OUTPUT // 3)}, "more than 64 KiB"),
    ("{{ now }}{{ now }}", {"now": "a" * (MAX_OUTPUT // 2 + 1)}, "more than 64 KiB"),
    ("{{ now }}", {"now": "\u20ac" * (MAX_OUTPUT // 3 + 1)}, "more than 64 KiB"),
    ("{{ rack|tojson }}", {"rack": {"a": ["b" * 100] * 1000}}, "more than 64 KiB"),
    ("{{ now }}", {"rack": {}}, "'now' is undefined"),
    ("{% if now > 1 %}{% endif %}", {"now": "a"}, "not supported"),
]


@pytest.mark.parametrize(("source", "change", "why"), STOPPED)
def test_stopped_while_rendering(source, change, why):
    """I-44: accepted when written, no output when the values do not fit; the place is named."""
    template_check(source)
    values = {**context(), **change}
    if "undefined" in why:
        del values["now"]
    with pytest.raises(RenderError, match=r"^target\.path: ") as caught:
        render(source, values, field="target.path")
    assert why in caught.value.message
    assert caught.value.field == "target.path"


def test_the_largest_output_is_whole():
    assert render("{{ now }}", {"now": "a" * MAX_OUTPUT}) == "a" * MAX_OUTPUT


def test_the_longest_source_is_read():
    tail = "a" * (MAX_SOURCE - len("{{ now }}"))
    assert render("{{ now }}" + tail, context()).endswith(tail)
    with pytest.raises(RenderError, match="longer than 4 KiB"):
        template_check("{{ now }}" + tail + "a")
    with pytest.raises(RenderError, match="longer than 4 KiB"):
        template_check("{{ now }}" + "\u20ac" * (MAX_SOURCE // 3))


class Trap:
    """An object that counts who touches it."""

    touched = 0

    def __getattribute__(self, name):
        if name not in ("__class__", "__dict__"):
            type(self).touched += 1
        return object.__getattribute__(self, name)

    def __str__(self):
        type(self).touched += 1
        return "trap"


class Text(str):
    """Text with a mind of its own."""

    __slots__ = ()

    def __str__(self):
        raise AssertionError


class Answers(dict):
    """An object that computes what it is asked for."""

    def __getitem__(self, key):
        raise AssertionError


@pytest.mark.parametrize("source", ["{{ rack.name }}", "{{ rack }}", "{{ rack|lower }}", "{{ rack|length }}"])
def test_an_object_in_the_context_is_never_touched(source):
    """TH-7: no attribute of anything that is not a plain object or list."""
    with pytest.raises(RenderError):
        render(source, {**context(), "rack": Trap()})
    assert Trap.touched == 0
    with pytest.raises(RenderError):
        render(source, {**context(), "rack": Text("name")})
    with pytest.raises(RenderError):
        render(source, {**context(), "rack": Answers(name=Text("a"))})


def test_a_large_object_is_not_written_out_before_it_is_refused():
    """TH-8: 100 MB of JSON, of which 64 KiB are made."""
    values = {**context(), "rack": {"name": ["a" * 1000] * 100_000}}
    tracemalloc.start()
    try:
        with pytest.raises(RenderError, match="more than 64 KiB"):
            render("{{ rack|tojson }}", values)
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("{{ rack.nmae }}", "rack has no 'nmae': it has id, name"),
        ("{{ rac.name }}", "names 'rac': known are now, last_run, run, task, rack, components"),
        ("{{ now.year }}", "now has no 'year': it is text"),
        ("{{ components.name }}", "components has no 'name': it is a list, use [0]"),
        ("{{ components[0].serial }}", "components[0] has no 'serial': it has id, name, type"),
        ("{{ rack.name.x }}", "rack.name has no 'x': it is text"),
        ("{{ 'a' if rack }}", "needs its else"),
        ("{{ rack.name|default }}", "takes 1 to 2 arguments"),
        ("{{ now|date }}", "takes 1 to 1 arguments"),
        ("{{ -rack.name }}", "arithmetic"),
        ("{{ now|date('%B') }}", "a format of"),
    ],
)
def test_a_mistake_is_found_when_it_is_written(source, why):
    with pytest.raises(InvalidInput) as caught:
        template_check(source)
    assert why in caught.value.message


def test_every_name_and_filter_that_is_promised():
    for name, shape in CONTEXT.items():
        fields = shape if isinstance(shape, dict) else shape[0] if isinstance(shape, list) else None
        assert name in context()
        for field in fields or ():
            index = "[0]" if isinstance(shape, list) else ""
            assert isinstance(render(f"{{{{ {name}{index}.{field} }}}}", context()), str)
    assert sorted(FILTERS) == ["date", "default", "int", "length", "lower", "tojson", "upper"]


def test_literals():
    """I-96: what stands around the marks of a path, of every branch."""
    assert literals("/a/b") == ("/a/b",)
    assert literals("/a/{{ now }}/b") == ("/a/", "/b")
    assert set(literals("/a{% if now %}/b{% else %}/c{% endif %}")) == {"/a", "/b", "/c"}
    assert literal_prefix("/a/{{ now }}/b{% if %}") == "/a/"
    assert literal_prefix("/a{% if now %}{{ now }}") == "/a"
    assert literal_prefix("/a/b") == "/a/b"


DOCUMENT = {"{{ now }}": ["{{ rack.name }}", 1, 1.5, None, True, {"a": "{{ components|length }}"}], "b": "plain"}


def test_strings_of_a_document_at_any_depth_but_no_key():
    """I-43; the document given stays as it is."""
    rendered = render_value(DOCUMENT, context())
    assert rendered == {"{{ now }}": ["rack-1", 1, 1.5, None, True, {"a": "2"}], "b": "plain"}
    assert DOCUMENT["{{ now }}"][0] == "{{ rack.name }}"


def deep(levels):
    value = "x"
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("good", "bad", "why"),
    [
        (deep(32), deep(33), "nested deeper than 32"),
        (["x"] * 1000, ["x"] * 1001, "more than 1000 strings"),
        ([1] * 4999, [1] * 5000, "more than 5000 values"),
        (["x" * 65536], ["x" * 65537], "more than 64 KiB of text"),
        (["{{ now }}" * 4] * 600, ["{{ now }}" * 4] * 700, "more than 64 KiB of text"),
        ({"x" * 255: 1}, {"x" * 256: 1}, "a key must be text"),
        ([2**63 - 1], [2**63], "64 bits"),
        ([1.5], [float("nan")], "64 bits"),
        ([None], [object()], "64 bits"),
        ({"a": 1}, {1: 1}, "a key must be text"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_limits_of_a_document(good, bad, why):
    """TH-8: at the limit and one above."""
    render_value(good, context())
    with pytest.raises(InvalidInput) as caught:
        render_value(bad, context(), field="target.body")
    assert why in caught.value.message
    assert caught.value.field.startswith("target.body")


# Made-up templates that are well typed: accepted, and the same as Jinja without any of our limits.
ATOMS = ["rack.name", "rack['id']", "task.description", "now", "components[1].name", "'it'", '"Str\u00e4"']
COMPARED = ["{} == {}", "{} != {}", "{} < {}", "{} <= {}", "{} > {}", "{} >= {}"]
DATA = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="{}%#"), max_size=8)


@st.composite
def typed(draw, kind, depth=3):
    """An expression that gives text, a number or a condition."""
    form = draw(st.sampled_from(FORMS[kind][: 1 if depth == 0 else None]))
    if form in ATOMS[:1]:
        return draw(st.sampled_from(ATOMS))
    kinds, pattern = form
    return pattern.format(*(draw(typed(inner, depth - 1)) for inner in kinds))


FORMS = {
    "text": [
        ATOMS[0],
        (["text"], "{}|lower"),
        (["text"], "{}|upper"),
        (["text", "condition", "text"], "({} if {} else {})"),
        (["text", "text"], "({} or {})"),
        (["text", "text"], "{}|default({}, true)"),
    ],
    "number": [([], "-7"), ([], "components|length"), (["text"], "{}|length"), (["text"], "{}|int(3)")],
    "condition": [
        ([], "rack"),
        *((["number", "number"], pattern) for pattern in COMPARED),
        *((["text", "text"], pattern) for pattern in ("{} == {}", "{} in {}", "{} not in {}", "{} < {}")),
        (["condition"], "not ({})"),
        (["condition", "condition"], "({} and {})"),
        (["condition", "condition"], "({} or {})"),
    ],
}


@st.composite
def bodies(draw, depth=2):
    """A template of data, outputs, remarks and ifs."""
    parts = []
    for kind in draw(st.lists(st.sampled_from(["data", "text", "number", "trim", "remark", "if"]), max_size=4)):
        if kind == "if" and depth:
            one, other = draw(bodies(depth - 1)), draw(bodies(depth - 1))
            condition = draw(typed("condition"))
            parts.append(f"{{% if {condition} %}}{one}{{% elif rack %}}{other}{{% else %}}{one}{{% endif %}}")
        elif kind in ("text", "number"):
            parts.append(f"{{{{ {draw(typed(kind))} }}}}")
        elif kind == "trim":
            parts.append(f"{{{{- {draw(typed('text'))} -}}}}")
        else:
            parts.append("{# {{ remark }} #}" if kind == "remark" else draw(DATA))
    return "".join(parts)


@given(source=bodies())
@settings(max_examples=200, deadline=None)
def test_what_is_well_typed_is_jinja(source):
    """The oracle is Jinja as it comes; only sizes may refuse such a template."""
    try:
        template_check(source)
    except RenderError as error:
        assert any(word in error.message for word in ("deeper", "parts", "longer")), error.message  # noqa: PT017
        assume(False)
    assert render(source, context()) == STOCK.from_string(source).render(context())


FRAGMENTS = [
    *("{{", "}}", "{%", "%}", "{#", "#}", "-", "if", "elif", "else", "endif", "not", "and", "or", "in", "is", "for"),
    *(
        "rack",
        "rack.name",
        "now",
        "components",
        "[0]",
        "[-1]",
        ".name",
        "['id']",
        "(",
        ")",
        "[",
        "]",
        ",",
        "|",
        ".",
        "~",
    ),
    *("lower", "upper", "int", "length", "tojson", "default", "date", "('%Y')", "(1)", "('x', true)", "==", "<", "'a'"),
    *("1", "1.5", "1e308", "none", "true", "'", '"', "\\", "\x00", "\ud800", "\r\n", "\u00df", "*", "+", "%", "{", ":"),
]


@given(parts=st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=4), max_size=24))
@settings(max_examples=500, deadline=None)
def test_whatever_is_accepted_stays_within_limits(parts):
    """TH-7, TH-8: text of at most 64 KiB or a RenderError, in little time; no other exception from either."""
    source = " ".join(parts)
    began = time.perf_counter()
    try:
        template_check(source)
    except RenderError:
        return
    try:
        text = render(source, context())
    except RenderError:
        return
    finally:
        assert time.perf_counter() - began < 1
    assert type(text) is str
    assert len(text.encode(errors="surrogatepass")) <= max(MAX_OUTPUT, len(source) * 3)


expressions = st.recursive(
    st.sampled_from(
        ["now", "rack", "components", "rack.name", "components[0]", "'\\''", "'\"'", "1", "1.5", "none", "last_run"]
    ),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(list(FILTERS))).map("|".join),
        st.tuples(inner, st.sampled_from(["int", "default", "date"]), inner).map(lambda t: f"({t[0]}|{t[1]}({t[2]}))"),
        st.tuples(inner, st.sampled_from(["==", "<", "in", "and", "or"]), inner).map(lambda t: f"({' '.join(t)})"),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} if {t[1]} else {t[2]})"),
    ),
    max_leaves=12,
)


@given(parts=st.lists(expressions, min_size=1, max_size=4), name=st.text(max_size=40))
@settings(max_examples=200, deadline=None)
def test_whatever_is_accepted_whatever_its_types(parts, name):
    """The same, with templates that mostly pass the check: wrong types stop with a RenderError, never another."""
    source = "".join(f"{{{{ {part} }}}}" for part in parts)
    try:
        template_check(source)
        text = render(source, context(name))
    except RenderError as error:
        assert error.message.isprintable()  # noqa: PT017
        return
    assert type(text) is str
    assert len(text.encode(errors="surrogatepass")) <= MAX_OUTPUT
