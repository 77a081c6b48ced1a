"""The encoder: known likeness, batching that changes nothing, and refusal of a wrong file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from qagen_dagster.errors import PermanentModelError
from qagen_dagster.models.embedders import (
    DIMENSIONS,
    MANY_BATCHES,
    MODEL_FILE,
    TOKENIZER_FILE,
    EmbedderSpec,
    LocalEmbedder,
    MiniLM,
    package_file,
    shared,
)
from qagen_dagster.models.ledger import Ledger
from qagen_dagster.models.providers import build_embedder
from tests.support.blobs import MemoryBlobs


def test_like_questions_are_near_and_unlike_ones_far() -> None:
    vectors = shared().encode(
        ["How old is the cat?", "What is the age of the cat?", "The valve froze in January."]
    )
    likeness = vectors @ vectors.T
    assert likeness[0, 1] > 0.85
    assert abs(likeness[0, 2]) < 0.3


def test_vectors_have_unit_length_and_keep_the_order_of_texts_of_any_length() -> None:
    texts = [f"word {'more ' * (n % 7)}{n}" for n in range(40)]
    vectors = shared().encode(texts)
    assert vectors.shape == (40, DIMENSIONS)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    alone = shared().encode([texts[33]])
    assert float(vectors[33] @ alone[0]) > 0.99


def test_many_batches_on_all_cores_give_what_each_gives_alone() -> None:
    encoder = MiniLM(batch_size=1)
    texts = [f"The valve of station {n} froze" for n in range(MANY_BATCHES + 8)]
    assert np.array_equal(encoder.encode(texts), np.concatenate([encoder.encode([text]) for text in texts]))


def test_no_text_gives_no_vector_and_long_text_is_truncated() -> None:
    assert shared().encode([]).shape == (0, DIMENSIONS)
    assert shared().encode(["tide " * 5_000, ""]).shape == (2, DIMENSIONS)


def test_word_pieces_have_their_place_and_their_meaning_in_context() -> None:
    text = "The river bank froze. The bank lent money to the borrower."
    places, states = shared().pieces(text)
    assert states.shape == (len(places), DIMENSIONS)
    assert {"river", "froze", "money"} <= {text[start:end] for start, end in places}
    banks = [state for (start, end), state in zip(places, states, strict=True) if text[start:end] == "bank"]
    assert len(banks) == 2
    assert not np.allclose(*banks, atol=0.1)
    assert len(shared().pieces("tide " * 5_000)[0]) < 1_000


def test_the_encoder_is_loaded_once() -> None:
    assert shared(1) is shared(1)


@pytest.mark.parametrize("place", [MODEL_FILE, TOKENIZER_FILE])
def test_a_file_with_another_hash_is_refused(place: tuple[str, str]) -> None:
    with pytest.raises(PermanentModelError, match="not the file"):
        package_file(*place, "0" * 64)


def test_a_missing_package_is_named() -> None:
    with pytest.raises(PermanentModelError, match="no-such-package"):
        package_file("no-such-package", "x/model.onnx", "0" * 64)


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
