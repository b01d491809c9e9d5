"""One Lambda a file: what wakes it, how large it is, and every statement of what it may."""
