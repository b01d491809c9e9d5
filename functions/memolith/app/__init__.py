"""The use cases over the ports, in rooms; `core` decides.

From the lowest floor to the highest, each room importing from lower floors alone: `kernel`; `log`; `index`,
`operations`; `auth`, `epochs`, `erasure`; `safety`; `commit`, `search`, `indexer`; `api`, `homes`; `replication`. Each
room says in its own first lines what it promises and which of its files to read first.
"""
