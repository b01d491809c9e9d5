"""The use cases: each reads like a page of prose over the ports, and `core` decides."""
