"""``python -m scripts.local_cloud``: what ``memolith dev`` runs."""

from __future__ import annotations

from scripts.local_cloud.commands import app

if __name__ == "__main__":
    app(prog_name="memolith dev")
