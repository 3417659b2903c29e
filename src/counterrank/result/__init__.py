"""How every answer is given."""
