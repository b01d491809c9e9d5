"""Memolith's infrastructure as one CDK app; `infra.app` is where it starts."""
