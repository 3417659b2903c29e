"""Policies that are best under an estimator (li2018)."""
