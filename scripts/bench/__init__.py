"""Benchmarks, each a program of its own: ``python -m scripts.bench.writes`` and its neighbours (``make bench``)."""
