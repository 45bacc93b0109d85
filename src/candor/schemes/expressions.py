"""Expressions in the confidence c, as a user writes them: read without running them, and computed without losing digits.

An expression holds numbers, c, + - * / ** (or ^), parentheses, the functions below, pi and e. Python's own grammar takes
the text apart and a whitelist says what each part may be; nothing is ever evaluated as code.
"""

import ast
import math
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import sympy
from numpy.typing import ArrayLike, NDArray

C = sympy.Symbol("c")

MAX_LENGTH = 400
"""Characters of a text."""
MAX_DEPTH = 40
"""Operations inside one another."""
MAX_POWER = 100
"""Largest exponent, also of powers inside powers."""

_FUNCTIONS: dict[str, tuple[Callable, Callable]] = {
    "log": (sympy.log, math.log),
    "ln": (sympy.log, math.log),
    "log1p": (lambda x: sympy.log(1 + x), math.log1p),
    "exp": (sympy.exp, math.exp),
    "expm1": (lambda x: sympy.exp(x) - 1, math.expm1),
    "sqrt": (sympy.sqrt, math.sqrt),
}
_CONSTANTS = {"pi": (sympy.pi, math.pi), "e": (sympy.E, math.e)}
_OPERATORS: dict[type[ast.operator], tuple[Callable, Callable]] = {
    ast.Add: (lambda a, b: a + b,) * 2,
    ast.Sub: (lambda a, b: a - b,) * 2,
    ast.Mult: (lambda a, b: a * b,) * 2,
    ast.Div: (lambda a, b: a / b,) * 2,
    ast.Pow: (lambda a, b: a**b, math.pow),
}


class ExpressionError(ValueError):
    """A text is no valid expression; the message names the term, its position and what is valid."""


@dataclass(frozen=True)
class Expression:
    """An expression as it was written, and as a sympy expression in C; called with confidences, it gives numbers."""

    text: str
    tree: Any
    variable: str = "c"
    """How the text calls the confidence."""

    def __call__(self, c: ArrayLike) -> NDArray[np.float64]:
        """Compute the expression, of c's shape; c in (0, 1). Where it has no finite real value it is inf or NaN."""
        c = np.asarray(c, dtype=np.float64)
        value = np.empty(c.shape)
        high = c > 0.5
        value[high] = self.of_complement(1 - c[high])
        value[~high] = self._compute(c[~high], 1 - c[~high], near_one=False)
        return value[()]

    def of_complement(self, d: ArrayLike) -> NDArray[np.float64]:
        """Compute the expression at c = 1 - d, for d in (0, 1/2] that may be too small for c to tell it from 1."""
        d = np.asarray(d, dtype=np.float64)
        return self._compute(1 - d, d, near_one=True)

    def _compute(self, c, d, near_one):
        with np.errstate(all="ignore"):
            value = evaluate(self.tree, c, d, NUMPY, near_one)
        return np.array(np.broadcast_to(value, c.shape))[()]


def parse(text: str, variable: str = "c") -> Expression:
    """Read an expression in a variable.

    Args:
        text: such as `c + log(1 - c)`; at most 400 characters, 40 levels deep, no power above 100.
        variable: how the text calls the confidence; a weight over thresholds calls it t.

    Raises:
        ExpressionError: a term is not valid, or is not a finite real number whatever c; the message says where.
    """
    if not isinstance(text, str):
        text = str(text)  # a number in YAML
    if len(text) > MAX_LENGTH:
        raise ExpressionError(f"an expression of {len(text)} characters; at most {MAX_LENGTH} are read")
    return Expression(text.strip(), _Reader(text, variable).read(), variable)


def find_term(expression: Expression, wrong: Callable[[Any], bool]) -> str | None:
    """Find the innermost term of an expression's text that is wrong, and say where it stands.

    Args:
        wrong: judges a term by its sympy expression in C.

    Returns:
        such as "position 5: 'log(c - 1)'", None where no term is wrong.
    """
    reader = _Reader(expression.text, expression.variable)
    reader.read()
    place = next((place for place, tree in reader.terms if wrong(tree)), None)
    return None if place is None else f"position {place[0] + 1}: {expression.text[slice(*place)]!r}"


class _Part(NamedTuple):
    tree: Any
    value: float | None  # of a constant
    power: float  # the highest that the variable is raised to


class _Reader:
    def __init__(self, text: str, variable: str):
        self.text, self.variable = text.strip(), variable
        self.terms: list[tuple[tuple[int, int], Any]] = []  # place and tree, inner ones first
        self.valid = (
            f"valid are numbers, {variable}, + - * / ** ^ ( ), {', '.join(_FUNCTIONS)}, {' and '.join(_CONSTANTS)}"
        )

    def read(self):
        if bad := re.search(r"[^0-9A-Za-z_ .+\-*/^(),]", self.text):
            raise self.error(bad.start(), bad.group(), "is not known")
        source = self.text.replace("^", "**")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Python's opinions on `1if`
                body = ast.parse(source, mode="eval").body
        except SyntaxError as error:
            place = self.place((error.offset or 1) - 1)
            hint = f"; write 2*{self.variable} for 2{self.variable}" if "literal" in error.msg else ""
            raise self.error(place, self.text[place : place + 10], f"is not understood ({error.msg}{hint})") from None
        except (RecursionError, MemoryError, ValueError):
            raise ExpressionError(f"{self.text[:40]!r}... is nested too deeply; at most {MAX_DEPTH} levels") from None
        return self.part(body, 1).tree

    def place(self, column: int) -> int:
        """Map a column of the source, where each ^ has become **, to one of the text."""
        at = 0
        for place, sign in enumerate(self.text):
            if at >= column:
                return place
            at += 2 if sign == "^" else 1
        return len(self.text)

    def error(self, place: int, term: str, problem: str) -> ExpressionError:
        text, term = (value if len(value) <= 60 else f"{value[:57]}..." for value in (self.text, term))
        return ExpressionError(f"{text!r}: position {place + 1}: {term!r} {problem}; {self.valid}")

    def fail(self, node: ast.AST, problem: str) -> ExpressionError:
        first, last = self.span(node)
        return self.error(first, self.text[first:last], problem)

    def span(self, node: ast.AST) -> tuple[int, int]:
        return self.place(node.col_offset), self.place(node.end_col_offset)

    def part(self, node: ast.AST, depth: int) -> _Part:
        if depth > MAX_DEPTH:
            raise self.fail(node, f"is nested too deeply; at most {MAX_DEPTH} levels are read")
        try:
            part = self.combine(node, depth)
        except (ZeroDivisionError, OverflowError) as error:
            problem = "divides by 0" if isinstance(error, ZeroDivisionError) else "is too large"
            raise self.fail(node, problem) from None
        except ValueError as error:
            if isinstance(error, ExpressionError):
                raise
            raise self.fail(node, "is not a real number") from None
        if part.tree.has(sympy.I, sympy.zoo, sympy.oo, -sympy.oo, sympy.nan):
            raise self.fail(node, "is not a finite real number on (0, 1)")
        if part.value is not None and not (1e-200 < abs(part.value) < 1e200 or part.tree == 0):
            raise self.fail(node, "is too large or too close to 0")
        if part.power > MAX_POWER:
            raise self.fail(node, f"raises to the power {part.power:g}; at most {MAX_POWER}")
        self.terms.append((self.span(node), part.tree))
        return part

    def combine(self, node: ast.AST, depth: int) -> _Part:
        match node:
            case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
                if not abs(number) < math.inf:
                    raise OverflowError
                return _Part(sympy.Rational(repr(number)), float(number), 0)  # 0.1 is meant as 1/10
            case ast.Name(id=name) if name == self.variable:
                return _Part(C, None, 1)
            case ast.Name(id=name) if name in _CONSTANTS:
                return _Part(*_CONSTANTS[name], 0)
            case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=operand):
                part = self.part(operand, depth + 1)
                if isinstance(sign, ast.UAdd):
                    return part
                return _Part(-part.tree, None if part.value is None else -part.value, part.power)
            case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATORS:
                # a chain such as 1 + 2 + 3 is no nesting
                first = self.part(left, depth + isinstance(operator, ast.Pow))
                return self.operation(node, first, operator, self.part(right, depth + 1))
            case ast.Call(func=ast.Name(id=name)) if name in _FUNCTIONS:
                if len(node.args) != 1 or node.keywords:
                    raise self.fail(node, f"must have one argument, as in {name}(1 + {self.variable})")
                part = self.part(node.args[0], depth + 1)
                exact, number = _FUNCTIONS[name]
                value = None if part.value is None else number(part.value)
                return _Part(exact(part.tree), value, part.power)
        raise self.fail(node, "is not known")

    def operation(self, node: ast.BinOp, left: _Part, operator: ast.operator, right: _Part) -> _Part:
        exact, number = _OPERATORS[type(operator)]
        if isinstance(operator, ast.Div) and right.tree == 0:
            raise ZeroDivisionError
        power = left.power + right.power if isinstance(operator, ast.Mult | ast.Div) else max(left.power, right.power)
        if isinstance(operator, ast.Pow):
            if right.value is not None and abs(right.value) > MAX_POWER:
                raise self.fail(node.right, f"is too high a power; at most {MAX_POWER}")
            power = max(left.power * abs(right.value or 0), right.power)
        value = None if left.value is None or right.value is None else number(left.value, right.value)
        return _Part(exact(left.tree, right.tree), value, power)


# --- Computing --------------------------------------------------------------------------------------------------------


class Arithmetic(NamedTuple):
    """What `evaluate` computes with: numbers of one kind, beside + - * / and unary minus."""

    number: Callable[[Any], Any]
    """From a sympy number."""
    log: Callable[[Any], Any]
    log1p: Callable[[Any], Any]
    exp: Callable[[Any], Any]
    expm1: Callable[[Any], Any]
    power: Callable[[Any, Any], Any]
    """Of a base and an exponent, which is an int where it is whole."""


NUMPY = Arithmetic(float, np.log, np.log1p, np.exp, np.expm1, lambda base, exponent: base**exponent)


def evaluate(tree: Any, c: Any, d: Any, arithmetic: Arithmetic, near_one: bool = False) -> Any:
    """Compute a sympy expression at c, given also d = 1 - c, which may know more digits than c.

    What is linear in c is computed from c or d, whichever does not cancel; log(1 + x) and exp(x) - 1 as log1p and expm1.

    Args:
        near_one: whether c > 1/2, where d is what is exact.
    """
    known: dict[Any, Any] = {C: c}
    number = arithmetic.number

    def linear(node):
        """Compute what is linear in c; None where a node is not."""
        constant, rest = node.as_independent(C, as_Add=True)
        factor, symbol = rest.as_independent(C, as_Add=False)
        if symbol != C:
            return None
        if constant + factor == 0:
            return number(constant) * d
        if abs(constant + factor) < abs(constant):
            return number(constant + factor) - number(factor) * d
        return number(constant) + number(factor) * c

    def compute(node):
        if not node.free_symbols:
            return number(node)
        if node.is_Add:
            if (value := linear(node)) is not None:
                return value
            constant, rest = node.as_independent(C, as_Add=True)
            terms = list(sympy.Add.make_args(rest))
            total = number(constant) if constant != 0 else None
            powers = [term for term in terms if isinstance(term, sympy.exp)]
            if constant == -1 and powers:
                terms.remove(powers[0])
                total = arithmetic.expm1(walk(powers[0].args[0]))
            for term in terms:
                total = walk(term) if total is None else total + walk(term)
            return total
        if node.is_Mul:
            product = None
            for factor in node.args:
                product = walk(factor) if product is None else product * walk(factor)
            return product
        if isinstance(node, sympy.exp):
            return arithmetic.exp(walk(node.args[0]))
        if isinstance(node, sympy.log):
            return logarithm(node.args[0])
        base, exponent = node.args  # a power: there is nothing else
        return arithmetic.power(walk(base), int(exponent) if exponent.is_Integer else walk(exponent))

    def logarithm(node):
        if node == C:
            return arithmetic.log1p(-d) if near_one else arithmetic.log(c)
        if node.is_Add and node.as_independent(C, as_Add=True)[0] == 1:
            vanishes = near_one and linear(node) is not None and abs(node.subs(C, 1)) < 0.5  # there 1 + x tends to 0
            if not vanishes:
                return arithmetic.log1p(walk(node - 1))
        return arithmetic.log(walk(node))

    def walk(node):
        if node not in known:
            known[node] = compute(node)
        return known[node]

    return walk(tree)
