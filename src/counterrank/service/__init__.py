"""The ranking service: what was shown and clicked is on disk before it is answered, and is evidence from then on."""
