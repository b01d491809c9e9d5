"""The eraser's entry point."""

from memolith.entry.compose_eraser import compose
from memolith.entry.settings import Settings

handler = compose(Settings.read())
