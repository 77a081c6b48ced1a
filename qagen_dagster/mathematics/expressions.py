"""Parses the tokens of an option's value to an expression in the syntax of checkable forms.

The parser is a recursive descent over at most a few hundred tokens, with bounded depth. The caller reads units after the value.
"""

from qagen_dagster.mathematics.tokens import Kind, Token
from qagen_dagster.mathematics.units import named_unit
from qagen_dagster.records.data_files import read_table

_NOTATION = read_table(__package__, "notation.toml")
LONGEST = 400  # characters; options are short, and a limit bounds the time
DEEPEST = 25  # maximum depth of nested groups
_FUNCTIONS: dict[str, str] = _NOTATION["functions"]
_GREEK = frozenset(_NOTATION["greek"].split())
_TIMES = ("times", "cdot", "*")
_GLUED = frozenset("FTCVHAJWKLNlx")  # "2F" is twice F, "2 F" is two farads
_SEVERAL: dict[str, str] = _NOTATION["several"]  # marks that no single value has, each with its message


class Unreadable(ValueError):
    """The text does not state one value. The message says what it states instead, or what is wrong with it."""


class Expressions:
    """A parser for one use: call `read`, then `rest` and `symbols`."""

    def __init__(self, found: list[Token]) -> None:
        self._tokens = found
        self._place = 0
        self._depth = 0
        self.symbols: set[str] = set()

    def read(self) -> str:
        """Parse the expression at the start of the tokens, and return it in the syntax of checkable forms. Raises Unreadable."""
        result = self._sum()
        token = self._peek()
        if token is not None and token.text in _SEVERAL and token.text != "%":
            raise Unreadable(_SEVERAL[token.text])
        if token is not None and token.text == "-":
            raise Unreadable("a range")
        return result

    def rest(self) -> list[Token]:
        """The tokens after the expression: usually a unit."""
        return self._tokens[self._place :]

    def _peek(self, ahead: int = 0) -> Token | None:
        place = self._place + ahead
        return self._tokens[place] if place < len(self._tokens) else None

    def _text(self, ahead: int = 0) -> str:
        token = self._peek(ahead)
        return token.text if token else ""

    def _take(self) -> Token:
        token = self._peek()
        if token is None:
            raise Unreadable("an expression that breaks off")
        self._place += 1
        return token

    def _accept(self, text: str) -> bool:
        """Take the next token if it is `text`. Returns whether it was taken."""
        found = self._text() == text
        self._place += found
        return found

    def _expect(self, text: str) -> None:
        token = self._take()
        if token.text != text:
            raise Unreadable(_SEVERAL.get(token.text, f"an expression without its {text!r}"))

    def _sum(self) -> str:
        self._depth += 1
        if self._depth > DEEPEST:
            raise Unreadable("nested too deep")
        sign = ""
        if self._text() in ("+", "-"):
            sign = "-" if self._take().text == "-" else ""
        result = sign + self._product()
        while self._text() in ("+", "-"):
            result += self._take().text + self._product()
        self._depth -= 1
        return f"({result})"

    def _product(self) -> str:
        result = self._power()
        divided = False
        while True:
            text = self._text()
            if self._is_times():
                self._take()
                result += "*" + self._signed()
            elif text in ("/", "div") and self._starts(1):
                self._take()
                result += "/" + self._power()
                divided = True
            elif self._starts(0):
                if (token := self._peek()) and token.kind is Kind.NUMBER:
                    raise Unreadable("several values: a number follows without a sign")
                if divided and self._tokens[self._place - 1].text not in ")}":
                    raise Unreadable("ambiguous: what is left of the / and what is right of it")
                result += "*" + self._power()
            else:
                return result

    def _is_times(self) -> bool:
        if self._text() in _TIMES:
            return self._starts(1) or self._text(1) == "-"
        token = self._peek()
        return bool(token and token.kind is Kind.WORD and token.text == "x" and self._text(1) == "10")

    def _signed(self) -> str:
        if self._accept("-"):
            return f"(-{self._power()})"
        return self._power()

    def _starts(self, ahead: int) -> bool:
        """Whether a factor begins at the token `ahead`. Units and words are not factors."""
        token = self._peek(ahead)
        if token is None:
            return False
        if token.kind in (Kind.NUMBER, Kind.LETTER):
            return True
        if token.kind is Kind.MARK:
            return token.text in "(["
        if token.text == "mu" and (unit := self._peek(ahead + 1)) and unit.kind is Kind.WORD:
            return False  # a micro-unit
        if token.kind is Kind.COMMAND:
            return token.text in {"frac", "sqrt", "log", "exp", "pi", *_FUNCTIONS, *_GREEK}
        return self._word_starts(token, ahead)

    def _word_starts(self, token: Token, ahead: int) -> bool:
        if token.text in {"sqrt", "pi", "log", "exp", *_FUNCTIONS}:
            return True
        if token.text == "x" and self._text(ahead + 1) == "10":
            return False
        first = self._place + ahead == 0
        if len(token.text) == 1 and token.text.isascii():
            glued = not token.spaced and token.text in _GLUED
            return first or glued or named_unit(token.text) is None
        return False

    def _power(self) -> str:
        base = self._primary()
        while True:
            if self._accept("!"):
                base = f"factorial({base})"
            elif not self._degrees_next() and self._accept("^"):
                base = f"({base})**{self._argument()}"
            else:
                return base

    def _degrees_next(self) -> bool:
        return self._text(1) == "\u00b0" or (self._text(1) == "{" and self._text(2) == "\u00b0")

    def _argument(self) -> str:
        """A group in braces, a number with all its digits, or another factor, each perhaps after a minus sign."""
        if self._accept("{"):
            result = self._sum()
            self._expect("}")
            return result
        if self._accept("-"):
            return f"(-{self._argument()})"
        token = self._peek()
        if token is not None and token.kind is Kind.NUMBER:
            return self._number(self._take().text)
        return self._primary()

    def _digit(self) -> str:
        r"""An argument of `\frac`. Without braces it is a single digit, as in `\frac12`."""
        token = self._peek()
        if token is not None and token.kind is Kind.NUMBER and len(token.text) > 1 and "." not in token.text:
            self._tokens[self._place] = Token(Kind.NUMBER, token.text[1:])
            return token.text[0]
        return self._argument()

    def _primary(self) -> str:
        token = self._take()
        if token.kind is Kind.NUMBER:
            return self._mixed(token)
        if token.text in ("(", "[", "{"):
            result = self._sum()
            self._expect({"(": ")", "[": "]", "{": "}"}[token.text])
            return result
        if token.text == "|":
            result = self._sum()
            self._expect("|")
            return f"Abs({result})"
        if token.kind is Kind.LETTER or (token.kind is Kind.WORD and len(token.text) == 1):
            return self._symbol(token.text)
        if token.kind is Kind.COMMAND or token.kind is Kind.WORD:
            return self._command(token.text)
        raise Unreadable(_SEVERAL.get(token.text, f"{token.text!r} where a value was expected"))

    def _mixed(self, token: Token) -> str:
        r"""A number, which may be mixed: `2\frac{1}{2}` and `2 1/2` are two and a half."""
        whole = self._number(token.text)
        if "." in token.text:
            return whole
        texts = [self._text(ahead) for ahead in range(7)]
        if texts[:2] == ["frac", "{"] and texts[3:5] == ["}", "{"] and texts[6] == "}":
            top, bottom, used = texts[2], texts[5], 7
        elif texts[0].isdigit() and texts[1] == "/" and texts[2].isdigit():
            top, bottom, used = texts[0], texts[2], 3
        elif texts[0] == "frac" and len(texts[1]) == 2:
            top, bottom, used = texts[1][0], texts[1][1], 2
        else:
            return whole
        if not (top.isdigit() and bottom.isdigit() and int(top) < int(bottom)):
            return whole
        self._place += used
        return f"({whole}+Rational({int(top)},{int(bottom)}))"

    def _number(self, text: str) -> str:
        whole, _, decimals = text.partition(".")
        if not decimals:
            return str(int(whole or "0"))
        return f"Rational({int(whole + decimals)},{10 ** len(decimals)})"

    def _symbol(self, name: str) -> str:
        if name == "e":
            return "exp(1)"
        if self._accept("_"):
            name += "_" + self._subscript()
        if name == "lambda":
            name = "lambda_"
        self.symbols.add(name)
        return name

    def _subscript(self) -> str:
        token = self._take()
        if token.text != "{":
            pieces = [token.text]
        else:
            pieces: list[str] = []
            while (piece := self._take().text) != "}":
                pieces.append(piece)
        name = "".join(pieces)
        if not name.isascii() or not name.isalnum():
            raise Unreadable("a subscript that is not a name")
        return name

    def _command(self, name: str) -> str:
        if name == "frac":
            top = self._digit()
            return f"(({top})/({self._digit()}))"
        if name == "sqrt":
            return self._root()
        if name == "pi":
            return name
        if name in _GREEK:
            return self._symbol(name)
        if name == "exp":
            return f"exp({self._inner()})"
        if name == "log":
            return self._logarithm()
        if name in _FUNCTIONS:
            return self._function(_FUNCTIONS[name])
        raise Unreadable(_SEVERAL.get(name, f"words: {name!r}"))

    def _root(self) -> str:
        if self._accept("["):
            degree = self._sum()
            self._expect("]")
            return f"(({self._argument()})**(1/{degree}))"
        return f"sqrt({self._argument()})"

    def _logarithm(self) -> str:
        base = "10"
        if self._accept("_"):
            base = self._argument()
        return f"(log({self._inner()})/log({base}))"

    def _function(self, name: str) -> str:
        power = ""
        if self._accept("^"):
            power = self._argument()
            if power in ("(-1)", "((-1))"):
                name, power = f"a{name}", ""
        inner = self._inner()
        result = f"{name}({inner})"
        return f"({result})**{power}" if power else result

    def _inner(self) -> str:
        """The argument of a function: a group, or factors with no sign between them; degrees become radians."""
        inner = self._power() if self._text() in ("(", "{") else self._bare_product()
        if self._accept("\u00b0"):
            return f"({inner})*pi/180"
        if self._text() == "^" and self._degrees_next():
            self._place += 4 if self._text(1) == "{" else 2
            return f"({inner})*pi/180"
        return inner

    def _bare_product(self) -> str:
        result = self._power()
        while (token := self._peek()) and self._starts(0) and token.text not in ("(", *_FUNCTIONS):
            result += "*" + self._power()
        return f"({result})"
