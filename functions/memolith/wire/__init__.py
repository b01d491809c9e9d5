"""What the world sees: HTTP requests in, JSON out. Nothing here knows AWS beyond the shape of an HTTP API event."""
