"""What somebody hostile would write into a call, or bring in through a rack's name; kept as data for every door.

Each entry says where its text goes, and a piece of the sentence that refuses it, so that a test sees that it was
refused for its own reason. `information(entry)` is an operation that is good but for the text, `carried(entry)` one
whose template puts in a rack's name, and `context(text)` what it is rendered with.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

Where = Literal["path", "query", "header", "body", "webhook_id", "key"]


class Hostile(NamedTuple):
    """One text, where it goes, a piece of the message."""

    name: str
    where: Where
    text: str
    why: str


_PATHS = (
    ("another host", "//evil.example/", "//"),
    ("a scheme", "http://evil.example/", "begin with one /"),
    ("no slash", "evil.example", "begin with one /"),
    ("userinfo", "@evil.example/", "begin with one /"),
    ("userinfo behind a slash", "/@evil.example/", "'@'"),
    ("userinfo inside", "/v1@evil.example", "'@'"),
    ("a port for whoever joins texts", ":8080/x", "begin with one /"),
    ("a dot for whoever joins texts", ".evil.example/x", "begin with one /"),
    ("backslash for slash", "/\\evil.example", "'\\'"),
    ("two backslashes", "\\\\evil.example", "begin with one /"),
    ("backslash traversal", "/v1/..\\..\\admin", "'\\'"),
    ("traversal", "/v1/../admin", "segment of dots"),
    ("traversal at the end", "/v1/..", "segment of dots"),
    ("one dot", "/v1/./admin", "segment of dots"),
    ("three dots", "/v1/.../admin", "segment of dots"),
    ("traversal with a parameter", "/v1/..;/admin", "segment of dots"),
    ("traversal with a named parameter", "/v1/..;a=b/admin", "segment of dots"),
    ("encoded dots", "/v1/%2e%2e/admin", "'%'"),
    ("half encoded dots", "/v1/.%2E/admin", "'%'"),
    ("doubly encoded dots", "/v1/%252e%252e/admin", "'%'"),
    ("encoded slash", "/v1%2fadmin", "'%'"),
    ("overlong dots", "/v1/%c0%ae%c0%ae/admin", "'%'"),
    ("encoded line end", "/v1%0d%0aX-Evil: 1", "'%'"),
    ("encoded NUL", "/v1%00", "'%'"),
    ("full-width dots", "/v1/\uff0e\uff0e/admin", "U+FF0E"),
    ("one dot leader", "/v1/\u2024\u2024/admin", "U+2024"),
    ("full-width slash", "/v1\uff0fadmin", "U+FF0F"),
    ("ideographic full stop", "/v1/\u3002\u3002/admin", "U+3002"),
    ("zero-width space", "/v1/.\u200b./admin", "U+200B"),
    ("right-to-left override", "/v1/\u202enimda", "U+202E"),
    ("line end", "/v1\r\nX-Evil: 1", "U+000D"),
    ("line feed", "/v1\nX-Evil: 1", "U+000A"),
    ("a second request", "/ HTTP/1.1\r\nHost: evil\r\n\r\nGET /", "U+0020"),
    ("NUL", "/v1\x00.json", "U+0000"),
    ("tab", "/v1\t/x", "U+0009"),
    ("blank", "/v1 /x", "U+0020"),
    ("query", "/v1?admin=1", "use query"),
    ("fragment", "/v1#x", "never sent"),
    ("metadata by host", "//169.254.169.254/latest/meta-data/", "//"),
    ("metadata by URL", "/http://169.254.169.254/latest/", "//"),
    ("metadata, IPv6", "//[::ffff:a9fe:a9fe]/", "'['"),
    ("metadata, decimal", "//2852039166/", "//"),
    ("metadata, octal", "//0251.0376.0251.0376/", "//"),
    ("metadata, hexadecimal", "//0xa9fea9fe/", "//"),
    ("loopback, short", "//127.1/", "//"),
    ("long", "/" + "a" * 2048, "longer than"),
)
_QUERIES = (
    ("line end", "1\r\nX-Evil: 1", "U+000D"),
    ("NUL", "1\x00", "U+0000"),
    ("half a surrogate pair", "1\ud800", "U+D800"),
    ("escape sequence", "1\x1b[2J", "U+001B"),
    ("metadata", "http://169.254.169.254/latest/meta-data/iam/", "metadata"),
    ("metadata, bare", "169.254.169.254", "metadata"),
    ("metadata, with a port", "169.254.169.254:80", "metadata"),
    ("metadata, decimal", "http://2852039166/", "metadata"),
    ("metadata, hexadecimal", "http://0xa9fea9fe/", "metadata"),
    ("metadata, octal", "http://0251.0376.0251.0376/", "metadata"),
    ("metadata, short", "http://169.254.43518/", "metadata"),
    ("metadata, mapped", "http://[::ffff:a9fe:a9fe]/", "metadata"),
    ("metadata, NAT64", "http://[64:ff9b::a9fe:a9fe]/", "metadata"),
    ("metadata, 6to4", "http://[2002:a9fe:a9fe::]/", "metadata"),
    ("metadata, IPv6", "http://[fd00:ec2::254]/", "metadata"),
    ("metadata, full-width", "http://\uff11\uff16\uff19.254.169.254/", "metadata"),
    ("metadata, ideographic dots", "http://169\u3002254\u3002169\u3002254/", "metadata"),
    ("metadata, encoded", "http%3A%2F%2F169.254.169.254%2F", "metadata"),
    ("metadata, doubly encoded", "http%253A%252F%252F169.254.169.254%252F", "metadata"),
    ("metadata, behind userinfo", "http://good.example@169.254.169.254/", "metadata"),
    ("metadata, no scheme", "//169.254.169.254/", "metadata"),
    ("metadata, backslashes", "http:\\\\169.254.169.254\\", "metadata"),
    ("metadata, by name", "http://Metadata.Google.Internal./computeMetadata/v1/", "metadata"),
    ("metadata, another cloud's", "http://100.100.100.200/latest/", "metadata"),
    ("containers' metadata", "http://169.254.170.2/v2/credentials", "metadata"),
    ("link-local", "http://169.254.1.1/", "metadata"),
    ("link-local, IPv6", "http://[fe80::1%25eth0]/", "metadata"),
    ("long", "a" * 4097, "longer than"),
)
_HEADERS = (
    ("a second header", "a\r\nX-Evil: 1", "U+000D"),
    ("line feed", "a\nX-Evil: 1", "U+000A"),
    ("carriage return", "a\rX-Evil: 1", "U+000D"),
    ("folded", "a\r\n b", "U+000D"),
    ("a body", "a\r\n\r\n{}", "U+000D"),
    ("NUL", "a\x00b", "U+0000"),
    ("next line", "a\x85X-Evil: 1", "U+0085"),
    ("line separator", "a\u2028X-Evil: 1", "U+2028"),
    ("becomes a line end in one byte", "a\u010d\u010aX-Evil: 1", "U+010D"),
    ("full-width", "\uff41", "U+FF41"),
    ("tab", "a\tb", "U+0009"),
    ("delete", "a\x7f", "U+007F"),
    ("outer blank", " a", "blank"),
    ("metadata", "http://169.254.169.254/", "metadata"),
    ("long", "a" * 4097, "longer than"),
)
_BODIES = (
    ("NUL", "a\x00b", "U+0000"),
    ("half a surrogate pair", "\udc00", "U+DC00"),
    ("escape sequence", "\x1b]0;evil\x07", "U+001B"),
    ("metadata", "fetch http://169.254.169.254/latest/user-data please", "metadata"),
    ("metadata, bare", "metadata.google.internal", "metadata"),
)
_WEBHOOKS = (
    ("traversal", "../admin", "webhook id"),
    ("slash", "a/b", "webhook id"),
    ("line end", "night\n", "webhook id"),
    ("query", "a?b", "webhook id"),
    ("encoded", "a%2fb", "webhook id"),
    ("full-width", "\uff41", "webhook id"),
    ("capital", "Night", "webhook id"),
    ("outer hyphen", "-night", "webhook id"),
    ("long", "a" * 65, "webhook id"),
)
_KEYS = (
    ("line end", "k\r\nX-Evil: 1", "idempotency key"),
    ("NUL", "k\x00", "idempotency key"),
    ("not ASCII", "k\u00e9", "idempotency key"),
    ("outer blank", "k ", "idempotency key"),
    ("long", "k" * 256, "idempotency key"),
)
# Refused before anything of them is evaluated.
_TEMPLATES = (
    # escapes
    ("mro", "{{ ''.__class__.__mro__[1].__subclasses__() }}", "call"),
    ("class alone", "{{ rack.__class__ }}", "no '__class__'"),
    ("class by item", "{{ rack['__class__'] }}", "no '__class__'"),
    ("class of a literal", "{{ ''.__class__ }}", "anything but the context"),
    ("class by filter attr", "{{ rack|attr('__class__') }}", "the filter attr"),
    ("class by escaped name", "{{ rack['\\x5f\\x5fclass\\x5f\\x5f'] }}", "backslash"),
    ("class by joined name", "{{ rack['__cla' + 'ss__'] }}", "operator +"),
    ("class by tilde", "{{ rack['__cla' ~ 'ss__'] }}", "joining"),
    ("class by computed name", "{{ rack[task.description] }}", "key is not written"),
    ("class by upper", "{{ rack['__class__'|lower] }}", "key is not written"),
    ("AWX, joined name in an untaken branch", "{% if 2 > 100 %}{{ run['task'+'_env'] }}{% endif %}", "operator +"),
    ("untaken branch", "{% if rack.id == 'never' %}{{ range(9) }}{% endif %}", "call"),
    ("untaken elif", "{% if 1 == 1 %}{% elif lipsum %}{% endif %}", "names 'lipsum'"),
    ("CVE-2016-10745 str.format", "{{ '{0.__class__}'.format(rack) }}", "call"),
    ("CVE-2019-10906 str.format_map", "{{ '{a.__class__}'.format_map(rack) }}", "call"),
    ("CVE-2024-56326 format kept by reference", "{{ ['{}'.format]|map('first') }}", "the filter map"),
    ("CVE-2024-56326 format through a filter", "{{ '%s'|format(rack) }}", "the filter format"),
    ("CVE-2024-56201 file name with a quote", "{% include \"'+evil()+'.txt\" %}", "include"),
    ("CVE-2025-27516 attr gives format", "{{ ('{0.__class__}'|attr('format'))(rack) }}", "call"),
    ("globals of a function", "{{ cycler.__init__.__globals__.os }}", "names 'cycler'"),
    ("joiner", "{{ joiner.__init__ }}", "names 'joiner'"),
    ("namespace", "{{ namespace.__init__ }}", "names 'namespace'"),
    ("self", "{{ self.__init__ }}", "names 'self'"),
    ("the context", "{{ context }}", "names 'context'"),
    ("the environment", "{{ environment }}", "names 'environment'"),
    ("request", "{{ request.application }}", "names 'request'"),
    ("settings", "{{ settings.SECRET_KEY }}", "names 'settings'"),
    ("method of text", "{{ task.description.upper() }}", "call"),
    ("method not called", "{{ task.description.upper }}", "it is text"),
    ("method of an object", "{{ rack.items }}", "no 'items'"),
    ("underscore", "{{ _ }}", "names '_'"),
    ("import", "{% import 'os' as os %}", "import"),
    ("from import", "{% from 'os' import system %}", "import"),
    ("extends", "{% extends 'base.html' %}", "extends"),
    ("include", "{% include '/etc/passwd' %}", "include"),
    ("block", "{% block a %}{% endblock %}", "block"),
    ("macro", "{% macro m() %}{% endmacro %}", "macro"),
    ("call block", "{% call rack() %}{% endcall %}", "call"),
    ("filter block", "{% filter upper %}a{% endfilter %}", "filter block"),
    ("assignment", "{% set rack = 1 %}", "assignment"),
    ("assignment by with", "{% with a = 1 %}{% endwith %}", "assignment"),
    ("autoescape", "{% autoescape true %}{% endautoescape %}", "autoescape"),
    ("do", "{% do rack.clear() %}", "cannot be read"),
    ("translation", "{% trans %}a{% endtrans %}", "cannot be read"),
    ("test", "{{ rack is defined }}", "is …"),
    ("call of a call", "{{ (rack)()() }}", "call"),
    ("unpacked arguments", "{{ rack.name|default(*components) }}", "operator *"),
    ("argument by name", "{{ rack.name|default(default_value='x') }}", "assignment"),
    ("filter map", "{{ components|map(attribute='__class__') }}", "assignment"),
    ("filter list", "{{ task.description|list }}", "the filter list"),
    ("filter replace", "{{ 'a'|replace('a', 'b') }}", "the filter replace"),
    ("filter safe", "{{ '<b>'|safe }}", "the filter safe"),
    ("filter pprint", "{{ rack|pprint }}", "the filter pprint"),
    # bombs
    ("repetition", "{{ 'a' * 1000000000 }}", "operator *"),
    ("power", "{{ 2 ** (2 ** 31) }}", "operator **"),
    ("sum", "{{ 1 + 1 }}", "operator +"),
    ("modulo as format", "{{ '%1000000000d' % 1 }}", "operator %"),
    ("loop", "{% for a in components %}a{% endfor %}", "loop"),
    ("loops inside loops", "{% for a in range(99999) %}{% for b in range(99999) %}x{% endfor %}{% endfor %}", "loop"),
    ("range", "{{ range(100000)|length }}", "call"),
    ("lipsum", "{{ lipsum(n=100000) }}", "assignment"),
    ("dict", "{{ dict(a=1) }}", "assignment"),
    ("center", "{{ 'a'|center(1000000000) }}", "the filter center"),
    ("indent", "{{ 'a'|indent(1000000000) }}", "the filter indent"),
    ("ljust", "{{ 'a'.ljust(1000000000) }}", "call"),
    ("join", "{{ components|join('a') }}", "the filter join"),
    ("wordwrap", "{{ 'a'|wordwrap(1) }}", "the filter wordwrap"),
    ("recursive macro", "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "call"),
    ("list", "{{ [1, 2]|length }}", "a list"),
    ("object", "{{ {'a': 1}|length }}", "an object"),
    ("slice", "{{ now[0:4] }}", "slice"),
    ("wide date", "{{ now|date('%1000000000Y') }}", "a format of"),
    (
        "long date",
        "{{ now|date('%Y%Y%Y%Y%Y%Y%Y%Y%Y%Y%Y%Y%Y%Y%Y%Y%Y%Y%Y%Y%Y%Y%Y%Y%Y%Y%Y%Y%Y%Y%Y%Y%Y') }}",
        "a format of",
    ),
    ("computed date", "{{ now|date(task.description) }}", "a format of"),
    ("brackets", "{{ " + "(" * 2000 + "1" + ")" * 2000 + " }}", "nested deeper"),
    ("brackets left open", "{{ " + "[" * 4000, "nested deeper"),
    ("not not not", "{{ " + "not " * 1000 + "1 }}", "nested deeper"),
    ("minus minus minus", "{{ " + "- " * 2000 + "1 }}", "nested deeper"),
    ("if if if", "{% if 1 %}" * 300 + "{% endif %}" * 60, "nested deeper"),
    ("if else if else", "{{ " + "1 if 1 else " * 300 + "1 }}", "nested deeper"),
    ("ifs around filters", "{% if 1 %}" * 25 + "{{ 1" + "|lower" * 10 + " }}" + "{% endif %}" * 25, "nested deeper"),
    ("many ifs", "{% if 1 %}a{% endif %}b" * 120, "more than 500"),
    ("many comparisons", "{{ 1" + " == 1" * 300 + " }}", "more than 500"),
    ("minus text", "{{ -'a' }}", "arithmetic"),
    ("many elif", "{% if 1 %}" + "{% elif 1 %}" * 300 + "{% endif %}", "more than 500"),
    ("many outputs", "{{1}}" * 800, "more than 500"),
    ("many filters", "{{ ''" + "|tojson" * 550 + " }}", "nested deeper"),
    ("long", "{{ 1 }}" + "a" * 4096, "longer than"),
    ("large number", "{{ 0x" + "f" * 4000 + " }}", "64 bits"),
    ("number without end", "{{ 1e999 }}", "without end"),
    # broken
    ("open", "{{ rack.name", "cannot be read"),
    ("empty", "{{ }}", "cannot be read"),
    ("unknown tag", "{% evil %}", "cannot be read"),
    ("NUL", "{{ 1 }}\x00", "U+0000"),
    ("half a surrogate pair", "{{ 1 }}\ud800", "U+D800"),
    ("escaped NUL", "{{ '\\x00' }}", "backslash"),
    ("escaped line end", "{{ '\\r\\n' }}", "backslash"),
    ("escaped by name", "{{ '\\N{FULL STOP}' }}", "backslash"),
)
# Accepted by themselves; what they put out is not.
_OUTPUTS = (
    ("grows with each filter", "body", "{{ '\"'" + "|tojson" * 24 + " }}", "more than 64 KiB"),
    ("unknown in another branch", "body", "{{ components[99].name }}", "no [99]"),
    ("a list", "body", "{{ components }}", "a list"),
    ("an object", "body", "{{ rack }}", "an object"),
    ("nothing", "body", "{{ none }}", "null"),
    ("no number", "body", "{{ rack.name|int }}", "whole number"),
    ("text against a number", "body", "{{ rack.name < 1 }}", "not supported"),
    ("host in two halves", "path", "/{{ '/evil.example' }}", "//"),
    ("traversal in two halves", "path", "/v1/{{ '.' }}./admin", "segment of dots"),
    ("host by output", "path", "{{ '//evil.example' }}", "//"),
    ("header by output", "header", "{{ 'a' }}\r\nX-Evil: 1", "U+000A"),
)

VALUES: tuple[Hostile, ...] = tuple(
    Hostile(f"{where}: {name}", where, text, why)
    for where, rows in (
        ("path", _PATHS),
        ("query", _QUERIES),
        ("header", _HEADERS),
        ("body", _BODIES),
        ("webhook_id", _WEBHOOKS),
        ("key", _KEYS),
    )
    for name, text, why in rows
)
PLACES: tuple[Where, ...] = ("path", "query", "header", "body", "webhook_id", "key")
TEMPLATES: tuple[Hostile, ...] = tuple(
    Hostile(f"template: {name}", PLACES[at % len(PLACES)], text, why) for at, (name, text, why) in enumerate(_TEMPLATES)
)
OUTPUTS: tuple[Hostile, ...] = tuple(Hostile(f"output: {name}", *rest) for name, *rest in _OUTPUTS)
WRITTEN = VALUES + TEMPLATES  # refused when they are written
CORPUS = WRITTEN + OUTPUTS

# Names of headers that no operation may set, each with a piece of the refusal.
HEADER_NAMES: tuple[tuple[str, str], ...] = (
    *((name, "reserved") for name in ("Host", "host", "HOST", "Content-Length", "Transfer-Encoding", "Connection")),
    *((name, "reserved") for name in ("Authorization", "Proxy-Authorization", "Proxy-Connection", "Cookie", "TE")),
    *((name, "reserved") for name in ("Idempotency-Key", "Upgrade", "Expect", "Trailer", "Keep-Alive", "Via")),
    *((name, "reserved") for name in ("X-Forwarded-Host", "X-Forwarded-For", "Forwarded", "X-Original-URL")),
    *((name, "reserved") for name in ("X-HTTP-Method-Override", "X-Rewrite-URL", "Accept-Encoding", "Content_Length")),
    *((name, "credential") for name in ("X-Api-Key", "X-Auth-Token", "Private-Token", "X-Vault-Token", "Api_Key")),
    *((name, "letters") for name in ("", "A B", "A:", "A\r\nB", "A\x00", "\u00c4", "a" * 256, ":authority")),
)


def information(entry: Hostile) -> tuple[str, dict]:
    """The code and the information of an operation that is good but for the entry's text."""
    return _with(entry.where, entry.text)


def carried(entry: Hostile) -> tuple[str, dict]:
    """The same with a template that puts the rack's name there; good as long as no rack has the text for a name."""
    return _with(entry.where, "{{ rack.name }}")


def context(name: str = "rack-1") -> dict:
    """What templates see, of a rack of that name."""
    return {
        "now": "2026-03-01T12:00:00+00:00",
        "last_run": "",
        "run": {"id": "7f3c2f60-0000-4000-8000-000000000001", "fired_at": "2026-03-01T12:00:00+00:00"},
        "task": {
            "id": "7f3c2f60-0000-4000-8000-000000000002",
            "schedule_id": "7f3c2f60-0000-4000-8000-000000000003",
            "schedule_name": "nightly",
            "description": "a call",
            "operation": "http_call",
        },
        "rack": {"id": "7f3c2f60-0000-4000-8000-000000000004", "name": name},
        "components": [
            {"id": "7f3c2f60-0000-4000-8000-000000000005", "name": "node-1", "type": "Compute"},
            {"id": "7f3c2f60-0000-4000-8000-000000000006", "name": "switch-1", "type": "NVSwitch"},
        ],
    }


def _with(where: Where, text: str) -> tuple[str, dict]:
    if where == "webhook_id":
        return "gateway", {"target": {"endpoint": "hooks", "webhook_id": text, "payload": {}}}
    target = {"endpoint": "inventory", "method": "POST", "path": "/v1/racks"}
    found = {"target": target, "identity": {"kind": "service_account"}, "policy": {}}
    places = {
        "path": (target, "path", text),
        "query": (target, "query", {"q": text}),
        "header": (target, "headers", {"X-Env": text}),
        "body": (target, "body", {"outer": [{"inner": text}]}),
        "key": (found["policy"], "idempotency_key", text),
    }
    holder, key, value = places[where]
    holder[key] = value
    return "api", found
