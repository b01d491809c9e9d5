"""Memolith: memory infrastructure for AI agents.

An agent sees files. Behind them every write is one conditional S3 put into the log of one path
(`memolith.core.object_keys`), and everything else, every table of every region, is derived from those objects
(`memolith.core.fold`).

Imports point one way: ``entry, clients -> wire, adapters -> app -> scanner, ports -> core``.
"""

__version__ = "0.1.0"
