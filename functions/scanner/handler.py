"""The scanner's entry point."""

from cairn.entry.compose_scanner import compose
from cairn.entry.settings import Settings

handler = compose(Settings.read())
