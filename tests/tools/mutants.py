"""Small changes to Python source that tests should notice: found in the syntax tree, made in the text.

A change is one of: another comparison, `and` for `or`, a condition negated, a number one off, `True` for `False`,
another operator, two arguments swapped, a call or an assignment left out, nothing returned.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

STATEMENTS = ("left out", "returned")  # kinds that change a statement, not an expression
COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}


@dataclass(frozen=True)
class Change:
    """One change of a file: the bytes between two offsets become others."""

    kind: str
    line: int
    start: int
    stop: int
    text: str

    def applied(self, source: str) -> str:
        """Return the source with the change."""
        data = source.encode()
        return (data[: self.start] + self.text.encode() + data[self.stop :]).decode()

    def is_python(self, source: str) -> bool:
        """Whether the source is still Python; an expression within an f-string may not be."""
        try:
            ast.parse(self.applied(source))
        except SyntaxError:
            return False
        return True


def changes(source: str) -> list[Change]:
    """Return all changes of a source, in their order.

    >>> [(one.kind, one.applied("x = a < 1")) for one in changes("x = a < 1")]
    [('comparison', 'x = (a <= 1)'), ('number', 'x = a < 2')]
    """
    lines = [0]
    for line in source.encode().split(b"\n"):
        lines.append(lines[-1] + len(line) + 1)
    found = []
    for node, kind, text in _made(ast.parse(source)):
        start = lines[node.lineno - 1] + node.col_offset
        stop = lines[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        found.append(Change(kind, node.lineno, start, stop, text))
    return found


def with_probes(source: str, numbered: Iterable[tuple[int, Change]]) -> str:
    """Return the source with a call, before each change, that tells the change's number; where Python allows a call.

    >>> with_probes("x = a < 1", [(7, changes("x = a < 1")[0])])
    "x = (__import__('kwire._probe', fromlist=['hit']).hit(7) or (a < 1))"
    """
    insertions: list[tuple[int, int, bool, str]] = []  # place, what makes the outer ones lie outside, text
    for number, change in numbered:
        call, is_statement = f"__import__('kwire._probe', fromlist=['hit']).hit({number})", change.kind in STATEMENTS
        before, after = (f"{call}; ", "") if is_statement else (f"({call} or (", "))")
        inside = source.encode()[change.start : change.stop].decode()
        if replace(change, text=f"{before}{inside}{after}").is_python(source):
            insertions.append((change.start, -change.stop, not is_statement, before))
            insertions.append((change.stop, -change.start, not is_statement, after))
    data = source.encode()
    for place, _, _, text in sorted(insertions, reverse=True):
        data = data[:place] + text.encode() + data[place:]
    return data.decode()


def _made(tree: ast.Module) -> Iterator[tuple[ast.expr | ast.stmt, str, str]]:
    """Yield places with the kind of a change and the new text."""
    nodes: list[ast.AST] = [tree]
    while nodes:
        node = nodes.pop(0)
        if isinstance(node, ast.expr):
            yield from _of_choice(node)
            yield from _of_value(node)
        elif isinstance(node, ast.stmt):
            yield from _of_statement(node)
        nodes = [*_inside(node), *nodes]


def _inside(node: ast.AST) -> Iterator[ast.AST]:
    """The children that tests can see; not annotations, decorators, documentation, and options of classes."""
    if isinstance(node, ast.JoinedStr | ast.Import | ast.ImportFrom) or _is_for_types(node):
        return
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        if isinstance(node, ast.ClassDef) and name in ("bases", "keywords"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield child


def _is_for_types(node: ast.AST) -> bool:
    is_overload = isinstance(node, ast.FunctionDef) and any("overload" in ast.unparse(d) for d in node.decorator_list)
    return is_overload or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test))


def _of_choice(node: ast.expr) -> Iterator[tuple[ast.expr, str, str]]:
    match node:
        case ast.Compare(left, [op], right):
            other = ast.Compare(left, [COMPARISONS[type(op)]()], right)
            yield node, "comparison", f"({ast.unparse(other)})"
        case ast.BoolOp(op, values):
            other_op = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield node, "boolean", f"({ast.unparse(ast.BoolOp(other_op, values))})"
        case ast.UnaryOp(ast.Not(), operand):
            yield node, "negation", f"({ast.unparse(operand)})"
        case ast.IfExp(test, body, orelse):
            yield node, "condition", f"({ast.unparse(ast.IfExp(ast.UnaryOp(ast.Not(), test), body, orelse))})"


def _of_value(node: ast.expr) -> Iterator[tuple[ast.expr, str, str]]:
    match node:
        case ast.Constant(bool() as value):
            yield node, "truth", str(not value)
        case ast.Constant(int() as value):
            yield node, "number", str(value + 1 if value < 2 else value - 1)
        case ast.BinOp(left, op, right) if type(op) in OPERATORS and not isinstance(left, ast.JoinedStr):
            yield node, "operator", f"({ast.unparse(ast.BinOp(left, OPERATORS[type(op)](), right))})"
        case ast.Call(func, [first, second, *rest], keywords) if not isinstance(first, ast.Starred):
            if not isinstance(second, ast.Starred):
                yield node, "arguments", ast.unparse(ast.Call(func, [second, first, *rest], keywords))


def _of_statement(node: ast.stmt) -> Iterator[tuple[ast.stmt | ast.expr, str, str]]:
    match node:
        case ast.If(test=test) | ast.While(test=test):
            yield test, "condition", f"not ({ast.unparse(test)})"
        case ast.Expr(ast.Call() | ast.Yield() | ast.YieldFrom() | ast.Await()):
            yield node, "left out", "pass"
        case ast.Assign([ast.Attribute() | ast.Subscript()]) | ast.AugAssign() | ast.Raise() | ast.Delete():
            yield node, "left out", "pass"
        case ast.Continue() | ast.Break():
            yield node, "left out", "pass"
        case ast.Return(value) if value is not None and not isinstance(value, ast.Constant):
            yield node, "returned", "return None"
