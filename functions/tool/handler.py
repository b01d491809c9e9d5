"""The tool function's entry point."""

from memolith.entry.compose_tool import compose
from memolith.entry.settings import Settings

handler = compose(Settings.read())
