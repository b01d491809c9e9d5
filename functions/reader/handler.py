"""The reader's entry point."""

from memolith.entry.compose_reader import compose
from memolith.entry.settings import Settings

handler = compose(Settings.read())
