"""The submission of a model that solves a question without its key, and the differences from the key.

Models read the docstring and the descriptions of the fields, which are part of the prompt.
"""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from qagen_dagster.records.base import MathText, Record

KEY_NOT_REACHED = "key_not_reached"
SEVERAL_RIGHT = "several_right_options"
NONE_RIGHT = "no_right_option"


def as_letter(value: object) -> object:
    """The letter of an option, in capitals and without signs around it: B for "(b)". A value that is not text is unchanged."""
    return value.strip(" ().:*`'\"").upper() if isinstance(value, str) else value


LETTERS = "ABCDEFGH"
Letter = Literal["A", "B", "C", "D", "E", "F", "G", "H"]
SaidLetter = Annotated[
    Letter, BeforeValidator(as_letter), WithJsonSchema({"type": "string", "enum": list(LETTERS)})
]


class BlindSolution(Record):
    """Submit your own solution, made without knowing which option is held to be right."""

    reasoning: MathText = Field(description="Your steps, short.")
    value: str = Field(description="The answer you reached, before you looked at the options.")
    right_options: tuple[SaidLetter, ...] = Field(description="Every option that is right by your own work.")
    chosen_option: SaidLetter | None = Field(
        description="The one option that is right; null if none is, or several are."
    )

    @property
    def right(self) -> tuple[Letter, ...]:
        """Every option that `right_options` or `chosen_option` calls right, sorted."""
        chosen = () if self.chosen_option is None else (self.chosen_option,)
        return tuple(sorted({*self.right_options, *chosen}))

    def disagreement(self, keys: tuple[str, ...]) -> tuple[str, str] | None:
        """The kind of the disagreement, and what the solver did, in words. None if `right` is equal to `keys`, which must be sorted."""
        right = self.right
        if right == keys:
            return None
        if len(right) > len(keys):
            return SEVERAL_RIGHT, f"found {', '.join(right)} all right"
        return (KEY_NOT_REACHED, f"chose {right[0]}") if right else (NONE_RIGHT, "found no option right")

    def advice(self, key: str, said: str, end: str) -> str:
        """The text for the maker of an item whose key this solution does not reach. `said` says what the solver did, `end` what to do."""
        return (
            f"The key is {key}, but an examiner who did not know it {said}. Find out which of the two is mistaken, "
            f"and {end}. The examiner's steps: {self.reasoning}"
        )
