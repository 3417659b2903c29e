"""What is asked of a log, and what the log gives for it."""
