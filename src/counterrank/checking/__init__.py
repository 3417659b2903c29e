"""`check`: what is in a log."""
