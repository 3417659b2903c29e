"""PI-OPT (swaminathan2017)."""
