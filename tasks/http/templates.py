"""Templates of a call: check them when they are written, render them when the call is made (D-25).

Promises that a template cannot take the process down, reach an object, or put out more than 64 KiB: syntax by an
allow-list (syntax.py), plain data only, Jinja's sandbox under it, output counted while it is generated. What is checked
and what is rendered is the same tree. Whether a rendered text may stand where it stands is for values.py to say.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from jinja2 import StrictUndefined, Template, TemplateError, Undefined, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

from tasks.http.documents import document_map
from tasks.http.filters import FILTERS, MAX_OUTPUT, RenderError, text_of
from tasks.http.syntax import parse
from tasks.http.values import check_text

__all__ = [
    "MAX_OUTPUT",
    "RenderError",
    "is_template",
    "literal_prefix",
    "literals",
    "render",
    "render_value",
    "template_check",
]

_MARKS: Final = ("{{", "{%", "{#")
_CACHED: Final = 512
_FAILURES: Final = (TemplateError, TypeError, ValueError, ArithmeticError, LookupError, RecursionError)


class _Environment(ImmutableSandboxedEnvironment):
    """The sandbox without attributes: a dot and brackets look into plain objects and lists, nowhere else."""

    def getattr(self, obj: Any, attribute: str) -> Any:
        return self.getitem(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        if isinstance(obj, Undefined):
            return str(obj)  # raises what is undefined
        if type(obj) is dict and type(argument) is str:
            if argument in obj:
                return obj[argument]
            known = ", ".join(str(key) for key in obj) or "nothing"
            return self.undefined(hint=f"there is no '{argument}' here; there is {known}", name=argument)
        if type(obj) is list and type(argument) is int:
            if -len(obj) <= argument < len(obj):
                return obj[argument]
            return self.undefined(hint=f"the list has {len(obj)} entries, no [{argument}]", name=str(argument))
        raise RenderError("the template looks into something that is no plain object or list")


def _environment() -> _Environment:
    environment = _Environment(
        undefined=StrictUndefined,
        autoescape=False,
        keep_trailing_newline=True,
        finalize=text_of,
        cache_size=0,
    )
    environment.globals.clear()
    environment.tests.clear()
    environment.filters.clear()
    environment.filters.update({name: row.function for name, row in FILTERS.items()})
    return environment


_ENVIRONMENT: Final = _environment()


def is_template(text: str) -> bool:
    """Whether `text` is rendered at all; a text without marks is used as it stands."""
    return any(mark in text for mark in _MARKS)


def template_check(source: str) -> None:
    """Refuse a source that may not be stored (RenderError, an InvalidInput). Evaluates nothing."""
    if is_template(source):
        parse(_ENVIRONMENT, source)


def literals(source: str) -> tuple[str, ...]:
    """The texts that stand in a template outside its marks, in order, of every branch. Raises RenderError."""
    if not is_template(source):
        return (source,)
    return tuple(node.data for node in parse(_ENVIRONMENT, source).find_all(nodes.TemplateData))


def literal_prefix(source: str) -> str:
    """The text before the first mark: what is known of a path before it is rendered."""
    ends = [source.find(mark) for mark in _MARKS if mark in source]
    return source[: min(ends, default=len(source))]


@lru_cache(maxsize=_CACHED)
def _compiled(source: str) -> Template:
    return _ENVIRONMENT.from_string(parse(_ENVIRONMENT, source))


def render(source: str, context: Mapping[str, Any], *, field: str = "") -> str:
    """`source` with the context's values put in; a text without marks comes back untouched.

    The source is checked here too, since a row may be older than a rule. Raises RenderError with `field`, the place of
    the template, and the cause.
    """
    if not is_template(source):
        return source
    try:
        return _generate(_compiled(source), context)
    except RenderError as error:
        raise _at(field, error.message) from None
    except _FAILURES as error:
        raise _at(field, "".join(c if c.isprintable() else "?" for c in str(error))[:200]) from None


def _at(field: str, message: str) -> RenderError:
    return RenderError(f"{field}: {message}" if field else message, field=field)


def _generate(template: Template, context: Mapping[str, Any]) -> str:
    """Piece by piece, so that a large output stops at the limit and not when memory ends."""
    pieces: list[str] = []
    size = 0
    for piece in template.root_render_func(template.new_context(dict(context))):
        size += len(piece.encode(errors="surrogatepass"))  # values.py names them
        if size > MAX_OUTPUT:
            raise RenderError(f"the template puts out more than {MAX_OUTPUT // 1024} KiB")
        pieces.append(piece)
    return "".join(pieces)


def render_value(value: Any, context: Mapping[str, Any], *, field: str = "") -> Any:
    """A copy of a JSON document with the strings at any depth rendered, keys and everything else as they are.

    What a template made is checked like what is written. Raises InvalidInput (RenderError for a template) with the
    place.
    """

    def change(text: str, place: str) -> str:
        rendered = render(text, context, field=place)
        if is_template(text):
            check_text(rendered, field=place)
        return rendered

    return document_map(value, field, change)
