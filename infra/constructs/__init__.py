"""One capability a file; the stacks only compose them."""
