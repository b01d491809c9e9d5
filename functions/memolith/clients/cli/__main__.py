"""``python -m memolith.clients.cli``."""

from memolith.clients.cli.main import run

run()
