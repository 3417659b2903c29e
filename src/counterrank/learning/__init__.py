"""`learn`: a policy from features and clicks, let through only where the log says that it wins."""
