"""The MCP function's entry point."""

from cairn.entry.compose_mcp import compose
from cairn.entry.settings import Settings

handler = compose(Settings.read())
