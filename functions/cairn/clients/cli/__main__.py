"""``python -m cairn.clients.cli``."""

from cairn.clients.cli.main import run

run()
