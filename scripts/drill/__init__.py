"""The drill (``make drill``): everything that can go wrong at once, on the local cloud, while clients write.

`load` writes all along through the real SDK and keeps count of what it was told; `steps` are what goes wrong, and what
an operator does about it with the commands of docs/operations; `accounting` looks afterwards, in every region, for
every write that was acknowledged; `report` is the table at the end.
"""
