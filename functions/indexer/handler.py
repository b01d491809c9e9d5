"""The indexer's entry point."""

from cairn.entry.compose_indexer import compose
from cairn.entry.settings import Settings

handler = compose(Settings.read())
