"""The keys function's entry point."""

from memolith.entry.compose_keys import compose
from memolith.entry.settings import Settings

handler = compose(Settings.read())
