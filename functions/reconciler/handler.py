"""The reconciler's entry point."""

from cairn.entry.compose_reconciler import compose
from cairn.entry.settings import Settings

handler = compose(Settings.read())
