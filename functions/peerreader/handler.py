"""The peerreader's entry point."""

from memolith.entry.compose_peerreader import compose
from memolith.entry.settings import Settings

handler = compose(Settings.read())
