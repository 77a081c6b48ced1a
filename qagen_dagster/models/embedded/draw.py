"""Random numbers for exam items and problem variants, reproducible on every machine."""

import random


class Draw(random.Random):
    """The random numbers of one attempt; equal seeds give equal numbers on every machine."""

    def whole(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both included."""
        return self.randint(low, high)

    def two(self, low: int, high: int) -> tuple[int, int]:
        """Two different whole numbers, the smaller one first."""
        first, second = sorted(self.sample(range(low, high + 1), 2))
        return first, second
