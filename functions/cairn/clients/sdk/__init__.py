"""Cairn inside other people's code: the memory tool as the `anthropic` SDK's own, on the SDK's own client."""
