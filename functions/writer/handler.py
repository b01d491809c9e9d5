"""The writer's entry point."""

from memolith.entry.compose_writer import compose
from memolith.entry.settings import Settings

handler = compose(Settings.read())
