"""The two stacks of a region: its own parts, and what joins it to the other regions."""
