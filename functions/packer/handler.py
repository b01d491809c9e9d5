"""The packer's entry point."""

from cairn.entry.compose_packer import compose
from cairn.entry.settings import Settings

handler = compose(Settings.read())
