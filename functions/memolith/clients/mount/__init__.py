"""A store as a folder of this machine, through FUSE: a thin layer over `memolith.clients.working_copy`."""
