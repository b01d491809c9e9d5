"""Where a function starts: settings are read, the ports are put together once, and events go to the use cases."""
