"""Rankers that learn while they serve: each chooses what is shown, and learns from the clicks on it."""
