"""The safety scanner's place in a write and in a read, and the verdicts that withhold a text.

It promises that no text is put before it was scanned, and that a text under a verdict is shown to admins alone, in
every region and under every version.

Read first: `write_gate`, the scan before a commit. Then `verdicts`, how a decision is stored and joined; `text_access`,
which every read of a text goes through; `deep_scan`, the second scan after the commit.
"""
