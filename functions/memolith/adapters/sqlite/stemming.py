"""The stemmer. Source: https://snowballstem.org/algorithms/english/stemmer.html"""

from __future__ import annotations

from snowballstemmer.english_stemmer import EnglishStemmer


def english(word: str) -> str:
    """The stem of a word in lower case. A stemmer keeps the word that it works on, so that each call has its own."""
    return str(EnglishStemmer().stemWord(word))
