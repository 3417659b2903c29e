"""`compare`: which of two policies is better."""
