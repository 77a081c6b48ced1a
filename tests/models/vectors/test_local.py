from __future__ import annotations

from pathlib import Path

import numpy as np

from qagen_dagster.models.ledger import Ledger
from qagen_dagster.models.providers import build_embedder
from qagen_dagster.models.vectors import EmbedderSpec, LocalEmbedder
from tests.support.blobs import MemoryBlobs


def test_the_usual_embedder_needs_nothing_and_stores_nothing(tmp_path: Path) -> None:
    blobs = MemoryBlobs()
    embedder = build_embedder(EmbedderSpec(), Ledger(blobs), lambda _: None, tmp_path)
    assert isinstance(embedder, LocalEmbedder)
    found = embedder.passages(["A valve opens.", "Die Brücke ist alt.", "The valve is opened."])
    asked = embedder.query("A valve opens.")
    assert found.shape == (3, 384)
    assert np.allclose(found[0], asked, atol=1e-5)
    assert found[0] @ found[2] > found[0] @ found[1]
    assert embedder.passages([]).shape == (0, 384)
    assert embedder.use.texts == 4
    assert blobs.data == {}
