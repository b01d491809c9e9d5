"""What the use cases need from the outside, one small Protocol a file. Synchronous; errors are those of `ports.errors`."""
