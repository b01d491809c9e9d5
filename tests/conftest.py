"""What holds for every test."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile(
    "cairn",
    deadline=None,  # a machine that is busy elsewhere is no failure
    max_examples=60,
    print_blob=True,  # a failure can be replayed from what it printed
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("cairn")
