"""Replication between the regions' buckets, by public S3 calls alone.

What S3 does on AWS inside, this does outside, for any endpoint: it learns of new objects (`observing`), writes down
what is owed to which bucket (`ledger`), waits as long and as badly as it is told to (`settings`, `links`), and puts
the copy, which fires the destination's own events (`copying`). The buckets' replication configurations say what is
copied where (`rules`). `control` is the HTTP address that changes the settings of a running replicator.

Kept from S3: at least once; no order between keys; the copy carries body, metadata, headers, tags and checksum;
deletions are not copied; an object that the rules' prefixes do not name is not copied onward; what stood in a bucket
before a rule did is left alone; what was deleted before its turn is gone.

Different from S3: the copy gets a version id of its own and a later modification time, and the source shows no
replication status (no public call sets either).
"""
