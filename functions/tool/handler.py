"""The tool function's entry point."""

from cairn.entry.compose_tool import compose
from cairn.entry.settings import Settings

handler = compose(Settings.read())
