"""Item families, each a row of `families_of_mathematics.toml` or `families_of_physics.toml`, and the drafts that are made from a row.

A row has the texts of the idea (`summary`, `carrier`, `constraints`, `asked`, `rationale`, and `paths`: one for each wrong option),
and how a draft is made:

- `settings`: the variants of the row. Their fields override the row's. `contexts`: the number of contexts, which use the variants in turn.
- `draw`: lines in order. `a b in pairs` draws an element of a list of the row, `a in 1..9` a whole number, `a < b in 1..9` two
  different ones in order; `c = a+b` computes; `need a > b` rejects the draft if the condition is false.
- `stem`, `reasoning`, `insight`: texts. `<a+b>` stands for a value in LaTeX, `<a:d>` for a decimal, `<a:+>` for a number with its sign,
  `<a:x>` for a times the symbol x, and KEY (only in `reasoning`) for the value of the key.
- `form`: the checkable form over the `givens`. `wrong`: forms for the paths, separated by semicolons; an empty form gives no option.
  `key`: an equal form, if `exact_of` cannot compute `form`. `show`: how values are shown. `only`: the condition for showing a `value`.

Other fields are values that the lines and texts may name. Expressions have the syntax that `exact_of` reads.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from qagen_dagster.mathematics.floats import exact_of
from qagen_dagster.models.embedded import Draw
from qagen_dagster.records.data_files import read_table


@dataclass(frozen=True)
class Draft:
    """A question without option letters. `wrong` has the option of each path of the family, or None for a path without an option."""

    stem: str
    key: str
    wrong: tuple[str | None, ...]
    reasoning: str
    insight: str
    expression: str
    givens: Mapping[str, str]
    unit: str


@dataclass(frozen=True, eq=False)
class Family:
    """One kind of question."""

    schema: str
    difficulty: str
    row: Mapping[str, Any]

    @cached_property
    def paths(self) -> tuple[str, ...]:
        return tuple(self.row["paths"])

    @cached_property
    def contexts(self) -> int:
        """The number of contexts: by default one for each variant, or four without variants."""
        return self.row.get("contexts", len(self.row.get("settings", range(4))))

    def make(self, draw: Draw, context: int, *, texts: bool = True) -> Draft | None:
        """A draft in the context with the number `context`; None if the drawn numbers are unsuitable, so that the caller draws again.

        Without `texts` and wrong options, which take most of the time, the draft has only the key and its computation."""
        settings = self.row.get("settings", [{}])
        left_out = {} if texts else dict.fromkeys(("wrong", "stem", "reasoning", "insight"), "")
        row: dict[str, Any] = {**self.row, **settings[context % len(settings)], **left_out}
        names = {name: Fraction(one) if isinstance(one, int) else one for name, one in row.items()}
        names["context"] = Fraction(context)
        return _draft(row, names) if all(_step(line, names, draw) for line in row["draw"]) else None


def _step(line: str, names: dict[str, Any], draw: Draw) -> bool:
    """Executes one line of `draw`: adds its values to `names`. False if a condition does not hold."""
    if line.startswith("need "):
        return bool(exact_of(line[5:], names))
    target, word, source = re.split(r" (in|=) ", line, maxsplit=1)
    low, _, high = source.partition("..")
    if word == "=":
        names[target] = exact_of(source, names)
        return True
    values = range(int(exact_of(low, names)), int(exact_of(high, names)) + 1) if high else names[source]
    targets = re.split(" < | ", target)
    found: Any = sorted(draw.sample(values, 2)) if " < " in target else draw.choice(values)
    numbers: Any = found if len(targets) > 1 else [found]
    names.update(zip(targets, map(Fraction, numbers), strict=True))
    return True


def _draft(row: Mapping[str, Any], names: dict[str, Any]) -> Draft | None:
    """The draft of the drawn numbers; None if the key cannot be shown."""
    form = row.get("key", row["form"])
    show, only = row.get("show", "<value>"), row.get("only", "")
    if only:
        names["key"] = exact_of(form, names)
    right, *others = (_latex(one, names, show, only) for one in (form, *row["wrong"].split(";")))
    if right is None:
        return None
    unit = row.get("unit", "")
    symbol = unit.replace("ohm", "\\Omega").replace(" ", "\\,").replace("^-1", "^{-1}")
    end = "\\%" if unit == "%" else f"\\,\\mathrm{{{symbol}}}" if unit else ""
    stem, reasoning, insight, expression = (
        _filled(row[name], names) for name in ("stem", "reasoning", "insight", "form")
    )
    givens = dict(_given(one, names) for one in row["givens"].split())
    options = tuple(None if one is None else f"${one}{end}$" for one in others)
    solution = reasoning.replace("KEY", _latex(form, names) or right)
    return Draft(stem, f"${right}{end}$", options, solution, insight, expression, givens, unit)


def _given(text: str, names: Mapping[str, Any]) -> tuple[str, str]:
    """The name and the value of an entry of `givens`. A name without a value is a symbol, whose value is its name."""
    name, decimals, _ = text.partition(":")
    value = names.get(name, name)
    return name, decimal(value) if decimals else str(value)


def _latex(form: str, names: Mapping[str, Any], show: str = "<value>", only: str = "") -> str | None:
    """The value of a form, or of the root of a form, in LaTeX. None for an empty form, and for a value that is not shown."""
    sign, is_root, square = form.partition("sqrt")
    if is_root:
        return sign.strip() + root(exact_of(square, names))
    value = exact_of(form, names) if form.strip() else ""
    named = {**names, "value": value}
    return None if value == "" or (only and not exact_of(only, named)) else _filled(show, named)


def _filled(text: str, names: Mapping[str, Any]) -> str:
    """The text with its placeholders filled in. Their values may be texts with placeholders, too."""

    def fill(place: re.Match[str]) -> str:
        value = names[place[1]] if place[1] in names else exact_of(place[1], names)
        if isinstance(value, str):
            return _filled(value, names)
        if place[2] is None:
            return number(value)
        if place[2] == "d":
            return decimal(value)
        return f"{int(value):+d}" if place[2] == "+" else times(value, place[2])

    return re.sub(r"<([^<>:]+)(?::([^<>]*))?>", fill, text)


def _families() -> tuple[Family, ...]:
    rows = read_table(__package__, "families_of_mathematics.toml", "families_of_physics.toml")
    return tuple(
        Family(schema, difficulty, row) for schema, cells in rows.items() for difficulty, row in cells.items()
    )


def number(value: Fraction | int) -> str:
    """A rational number in LaTeX."""
    value = Fraction(value)
    if value.denominator == 1:
        return str(value.numerator)
    sign = "-" if value < 0 else ""
    return f"{sign}\\frac{{{abs(value.numerator)}}}{{{value.denominator}}}"


def decimal(value: Fraction | int) -> str:
    """A rational number as a decimal. Raises ValueError if it has more than six decimal places."""
    value = Fraction(value)
    text = f"{float(value):.6f}".rstrip("0").rstrip(".")
    if Fraction(text) != value:
        raise ValueError(f"{value} has no short decimal")
    return text


def root(square: Fraction | int) -> str:
    """The square root of a positive rational number in LaTeX, simplified."""
    square = Fraction(square)
    outside, inside = 1, square.numerator * square.denominator
    divisor = 2
    while divisor * divisor <= inside:
        while inside % (divisor * divisor) == 0:
            inside //= divisor * divisor
            outside *= divisor
        divisor += 1
    front = Fraction(outside, square.denominator)
    return number(front) if inside == 1 else times(front, f"\\sqrt{{{inside}}}")


def times(factor: Fraction | int, symbol: str) -> str:
    """A rational multiple of a symbol in LaTeX."""
    factor = Fraction(factor)
    top = symbol if factor.numerator == 1 else f"{factor.numerator}{symbol}"
    return top if factor.denominator == 1 else f"\\frac{{{top}}}{{{factor.denominator}}}"


FAMILIES = _families()
