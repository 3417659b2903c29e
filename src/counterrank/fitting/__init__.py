"""`clicks`: click models fitted to a log and compared."""
