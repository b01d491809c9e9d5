"""The scanner's entry point."""

from memolith.entry.compose_scanner import compose
from memolith.entry.settings import Settings

handler = compose(Settings.read())
