"""The writer's entry point."""

from cairn.entry.compose_writer import compose
from cairn.entry.settings import Settings

handler = compose(Settings.read())
