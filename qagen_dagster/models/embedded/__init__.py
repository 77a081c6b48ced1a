"""The embedded models need no API key and no network: rules propose questions, retrieval answers them, and a comparison finds duplicates.

The names of the models state their mechanism (`embedded:rules`, `embedded:reader`, `embedded:matcher`). The models use the tool protocol of
any model, and know English only. A question reuses words of its evidence, and asks for a fact of one sentence, row or entry.
"""

import random


class Draw(random.Random):
    """The random numbers of one exam item or problem variant; equal seeds give equal numbers on every machine."""
