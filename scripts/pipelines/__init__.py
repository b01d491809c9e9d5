"""Made-up sessions of which it is known what they teach, and the judgment of what a pipeline makes of them."""
