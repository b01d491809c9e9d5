"""The peerwriter's entry point."""

from memolith.entry.compose_peerwriter import compose
from memolith.entry.settings import Settings

handler = compose(Settings.read())
