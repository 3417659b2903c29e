"""`backtest`: which estimator to trust on a log."""
