"""What the templates asked for and the live APIs do not have.

An emulator answers CREATE_COMPLETE for properties that it has dropped. `compare` reads the synthesized templates
(what was asked for), asks each resource's own API (what is there), and lists every property that differs. Where the
emulator drops one, nothing that is tried on it says anything about that property.
"""
