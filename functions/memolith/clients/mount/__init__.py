"""A store as a folder of this machine, through FUSE: a thin layer over `memolith.clients.working_copy`.

It promises that every close of a file is a commit, and that what cannot be committed is kept beside its file.

Read first: `filesystem`, the calls of the kernel. `mounting` begins and ends a mount.
"""
