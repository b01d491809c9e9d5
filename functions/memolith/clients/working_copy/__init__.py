"""A store as files in a folder of this machine: what `memolith mount` and `memolith sync` stand on. There is no FUSE in
here.

The words:

- A **head** is what the store has at a path: which memory, which text (by its hash), since when (`store_client.Head`).
- The **table** is this machine's picture of all heads, kept fresh by asking what versions came since (`head_cache`).
- **Contents** are texts by hash, on disk, shared by all mounts of this machine (`content_cache`).
- A **local text** is one that the store does not have: an edit that is under way, a temporary file of an editor, or
  a text that was kept because its commit was refused. It stands on disk from its first byte on (`unsaved_texts`).
- A **commit** makes a local text the store's: one conditional write on the head that the edit was made on
  (`conditional_commit`). This is the interface for every other client that brings local texts into a store:

      outcome = ConditionalCommit(client, clock, randomness).commit(Edit(path, base, text))

  It returns what the path has then, or raises `Overtaken`: the store's side and the local one have both changed, and
  nothing was written. The caller keeps its text beside the file, as `temporary_names.beside(path, "conflict", now_us)`.

Read first: `working_copy`, which puts them together: read, rename, unlink and the like on paths, as errno knows them.
Then `open_files`: open, write and close.
"""
