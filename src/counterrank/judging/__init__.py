"""`evaluate`: what a policy is worth."""
