"""Rankings with the best lower bounds (cief2024)."""
