"""A store and a folder kept equal, both ways, where there is no FUSE: one pass after the other over ordinary files.

It promises that a text which changed on both sides is kept on both sides.

Read first: `decide`, which says, path by path, what is to be done: from what the folder has, what the store has, and
what both had when they were last equal. `folder` is the folder's side; `syncing` carries a pass out, with the same
commits as a mount.
"""
