"""What the use cases need from the outside: one small Protocol a file, synchronous; errors in `ports.errors`."""
