"""A store as a folder of this machine, through FUSE: a thin layer over `cairn.clients.working_copy`."""
