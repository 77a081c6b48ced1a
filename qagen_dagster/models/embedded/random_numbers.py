"""Random numbers for exam items and problem variants, reproducible on every machine."""

import random


class Draw(random.Random):
    """The random numbers of one attempt; equal seeds give equal numbers on every machine."""
