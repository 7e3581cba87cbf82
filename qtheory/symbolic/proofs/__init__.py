"""One derivation a file; each has a function ``derivation``."""
