"""What estimators for users who read from the top need: chances of the beginnings of rankings."""
