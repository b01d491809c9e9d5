"""The packer's entry point."""

from memolith.entry.compose_packer import compose
from memolith.entry.settings import Settings

handler = compose(Settings.read())
