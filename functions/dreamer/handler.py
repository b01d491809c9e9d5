"""The dreamer's entry point."""

from memolith.entry.compose_dreamer import compose
from memolith.entry.settings import Settings

handler = compose(Settings.read())
