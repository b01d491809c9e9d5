"""The reader's entry point."""

from cairn.entry.compose_reader import compose
from cairn.entry.settings import Settings

handler = compose(Settings.read())
