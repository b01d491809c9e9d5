"""Search without I/O: from a text to the words that are indexed (`analysis`), and from hits to an order (`ranking`)."""
