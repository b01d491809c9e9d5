"""The MCP function's entry point."""

from memolith.entry.compose_mcp import compose
from memolith.entry.settings import Settings

handler = compose(Settings.read())
