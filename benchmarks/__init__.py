"""How fast counterrank is beside reading the log, hand-written SQL and its peers. Run `python -m benchmarks.run`."""
