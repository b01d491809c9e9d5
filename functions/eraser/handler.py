"""The eraser's entry point."""

from cairn.entry.compose_eraser import compose
from cairn.entry.settings import Settings

handler = compose(Settings.read())
