"""Which templates are accepted: the whole tree, branches never taken included, against a list of what is allowed.

A node type that is not in the table is refused, so a new feature of Jinja is closed until somebody opens it. No call,
loop, assignment, import or arithmetic; attributes and items only of what the context has, by names written in the
template (TH-7, TH-8).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, cast

from jinja2 import Environment, TemplateSyntaxError, nodes

from tasks.http.filters import FILTERS, MAX_WHOLE, RenderError, date_format_check
from tasks.http.values import control_in

MAX_SOURCE: Final = 4096  # bytes of UTF-8
MAX_NODES: Final = 500
MAX_DEPTH: Final = 32

Shape = Any  # "text", an object of shapes, or a list of one shape
TEXT: Final = "text"
CONTEXT: Final[dict[str, Shape]] = {
    "now": TEXT,
    "last_run": TEXT,
    "run": {"id": TEXT, "fired_at": TEXT},
    "task": dict.fromkeys(("id", "schedule_id", "schedule_name", "description", "operation"), TEXT),
    "rack": {"id": TEXT, "name": TEXT},
    "components": [{"id": TEXT, "name": TEXT, "type": TEXT}],
}
_OPERATORS: Final = frozenset({"==", "!=", "<", "<=", ">", ">=", ".", "|", "(", ")", "[", "]", ",", "-"})
_OPERATOR_WORDS: Final = {
    "=": "an assignment",
    "~": "joining with ~: write the two parts side by side",
    "{": "an object",
    ":": "a slice",
}
_OPENING: Final = frozenset("([")
_CLOSING: Final = frozenset(")]")
_DEEPER: Final = frozenset({"not", "-", "else", "|"})
_WORD_TOKENS: Final = frozenset({"name", "string", "integer", "float", "data"})
_PLAIN: Final = frozenset({nodes.Template, nodes.Output, nodes.TemplateData, nodes.If, nodes.Compare, nodes.Operand})
_LOGIC: Final = frozenset({nodes.And, nodes.Or, nodes.Not})
_WORDS: Final[dict[type[nodes.Node], str]] = {
    nodes.Call: "a call",
    nodes.For: "a loop",
    nodes.Macro: "a macro",
    nodes.CallBlock: "a call",
    nodes.Test: "a test (is …): use the filter default, or compare",
    nodes.Assign: "an assignment",
    nodes.AssignBlock: "an assignment",
    nodes.With: "an assignment",
    nodes.Include: "an include",
    nodes.Import: "an import",
    nodes.FromImport: "an import",
    nodes.Extends: "an extends",
    nodes.Block: "a block",
    nodes.FilterBlock: "a filter block",
    nodes.List: "a list",
    nodes.Tuple: "a list",
    nodes.Slice: "a slice",
    nodes.Keyword: "an argument by name",
    nodes.Scope: "autoescape",
}


def refuse(what: str) -> RenderError:
    """The error for something a template may not have."""
    return RenderError(
        f"a template may not have {what}. It may have names of the context, if, comparisons, and the filters "
        f"{', '.join(FILTERS)}"
    )


def source_check(source: str) -> None:
    """Refuse a source that is too long, or has characters that no request and no row may hold."""
    if len(source) > MAX_SOURCE or len(source.encode(errors="surrogatepass")) > MAX_SOURCE:
        raise RenderError(f"the template is longer than {MAX_SOURCE // 1024} KiB")
    cause = control_in(source)
    if cause:
        raise RenderError(f"the template {cause}")


def parse(environment: Environment, source: str) -> nodes.Template:
    """The tree of `source`, checked. Raises RenderError; nothing of the template has been evaluated by then."""
    source_check(source)
    try:
        _tokens_check(environment, source)
        tree = environment.parse(source)
    except TemplateSyntaxError as error:
        raise RenderError(f"the template cannot be read: {_printable(error.message)}") from None
    except RecursionError:
        raise RenderError(f"the template is nested deeper than {MAX_DEPTH}") from None
    _tree_check(tree)
    return tree


def _printable(text: str | None) -> str:
    return "".join(char if char.isprintable() else "?" for char in (text or "syntax error")[:200])


def _tokens_check(environment: Environment, source: str) -> None:
    """Operators by the list, and how much there is, before anything is parsed: what nests without end is never built.

    A word or a text between marks is at least a node of the tree; each of `_DEEPER` in a tag may be a level of it.
    """
    words = brackets = blocks = level = 0
    before = ""
    for _, kind, value in environment.lexer.tokeniter(source, None):
        if kind == "whitespace":
            continue
        if kind == "string" and "\\" in value:
            raise refuse("a backslash in a string: write the character itself")
        if kind == "operator" and value not in _OPERATORS:
            raise refuse(_OPERATOR_WORDS.get(value, f"the operator {value}"))
        if kind.endswith("_begin"):
            level = 0
        if before == "block_begin":
            blocks += (value == "if") - (value == "endif")
        words += kind in _WORD_TOKENS
        brackets += (value in _OPENING) - (value in _CLOSING) if kind == "operator" else 0
        level += value in _DEEPER and kind in ("operator", "name")
        if words > MAX_NODES:
            raise RenderError(f"the template has more than {MAX_NODES} parts")
        if max(brackets, blocks, level) > MAX_DEPTH:
            raise RenderError(f"the template is nested deeper than {MAX_DEPTH}")
        before = kind


def _tree_check(tree: nodes.Template) -> None:
    """Every node against the table, without recursion."""
    stack: list[tuple[nodes.Node, int]] = [(tree, 0)]
    seen = 0
    while stack:
        node, depth = stack.pop()
        seen += 1
        if seen > MAX_NODES:
            raise RenderError(f"the template has more than {MAX_NODES} parts")
        if depth > MAX_DEPTH:
            raise RenderError(f"the template is nested deeper than {MAX_DEPTH}")
        kind = type(node)
        if kind in _CHECKS:
            _CHECKS[kind](node)
        elif kind not in _PLAIN and kind not in _LOGIC:
            raise refuse(_WORDS.get(kind, kind.__name__))
        stack.extend((child, depth + 1) for child in node.iter_child_nodes())


def _name(node: nodes.Name) -> None:
    if node.ctx != "load" or node.name not in CONTEXT:
        raise RenderError(f"the template names '{_printable(node.name)}': known are {', '.join(CONTEXT)}")


def _shape(node: nodes.Node) -> Shape:
    """What `node` is by the context's description; RenderError if it is nothing there."""
    steps: list[Any] = []
    while isinstance(node, (nodes.Getattr, nodes.Getitem)):
        steps.append(node.attr if isinstance(node, nodes.Getattr) else _key(node))
        node = node.node
    if not isinstance(node, nodes.Name):
        raise refuse("an attribute or item of anything but the context")
    _name(node)
    shape: Shape = CONTEXT[node.name]
    path = node.name
    for step in reversed(steps):
        if isinstance(shape, list) and type(step) is int:
            shape = shape[0]
        elif isinstance(shape, dict) and step in shape:
            shape = shape[step]
        else:
            raise RenderError(f"{path} has no '{_printable(str(step))}': {_inside(shape)}")
        path += f"[{step}]" if type(step) is int else f".{step}"
    return shape


def _inside(shape: Shape) -> str:
    if isinstance(shape, dict):
        return f"it has {', '.join(shape)}"
    return "it is a list, use [0]" if isinstance(shape, list) else "it is text"


def _key(node: nodes.Getitem) -> Any:
    inner = node.arg.node if type(node.arg) is nodes.Neg else node.arg
    if type(inner) is not nodes.Const or type(inner.value) not in (str, int):
        raise refuse("an item whose key is not written as plain text or a number")
    if inner is node.arg:
        return inner.value
    return -inner.value if type(inner.value) is int else None


def _access(node: nodes.Getattr | nodes.Getitem) -> None:
    if node.ctx != "load":
        raise refuse("an assignment")
    _shape(node)


def _const(node: nodes.Const) -> None:
    value = node.value
    if type(value) is int and abs(value) >= MAX_WHOLE:
        raise RenderError("the template has a number of more than 64 bits")
    if type(value) is float and not math.isfinite(value):
        raise RenderError("the template has a number without end")


def _negative(node: nodes.Neg) -> None:
    if type(node.node) is not nodes.Const or type(node.node.value) not in (int, float):
        raise refuse("arithmetic")


def _inline_if(node: nodes.CondExpr) -> None:
    if node.expr2 is None:
        raise RenderError("an if inside an expression needs its else")


def _filter(node: nodes.Filter) -> None:
    row = FILTERS.get(node.name)
    if row is None or node.node is None:
        raise refuse(f"the filter {_printable(node.name)[:64]}")
    if node.kwargs or node.dyn_args is not None or node.dyn_kwargs is not None:
        raise refuse("an argument by name, or unpacked")
    if not row.least <= len(node.args) <= row.most:
        raise RenderError(f"the filter {node.name} takes {row.least} to {row.most} arguments")
    if node.name == "date":
        first = node.args[0]
        date_format_check(first.value if type(first) is nodes.Const else None)


_CHECKS: Final[dict[type[nodes.Node], Callable[[Any], None]]] = cast(
    "dict[type[nodes.Node], Callable[[Any], None]]",
    {
        nodes.Name: _name,
        nodes.Getattr: _access,
        nodes.Getitem: _access,
        nodes.Const: _const,
        nodes.Neg: _negative,
        nodes.CondExpr: _inline_if,
        nodes.Filter: _filter,
    },
)
