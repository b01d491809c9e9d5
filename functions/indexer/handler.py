"""The indexer's entry point."""

from memolith.entry.compose_indexer import compose
from memolith.entry.settings import Settings

handler = compose(Settings.read())
