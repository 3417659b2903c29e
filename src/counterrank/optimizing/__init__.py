"""`optimize`: better rankings from a log."""
