"""The stemmer. Source: https://snowballstem.org/algorithms/english/stemmer.html"""

from __future__ import annotations

from snowballstemmer.english_stemmer import EnglishStemmer


def english(word: str) -> str:
    """Return the stem of a word in lower case. A stemmer keeps the word it works on, so each call makes its own."""
    return str(EnglishStemmer().stemWord(word))
