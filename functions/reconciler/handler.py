"""The reconciler's entry point."""

from memolith.entry.compose_reconciler import compose
from memolith.entry.settings import Settings

handler = compose(Settings.read())
