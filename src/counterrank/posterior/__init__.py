"""What clicks say of an item's attraction: Beta priors, posteriors and lower bounds, on arrays of clicks and looks."""

from counterrank.posterior._gamma import slope_rise
from counterrank.posterior.beta_binomial import Terms, terms
from counterrank.posterior.bounds import BOUNDS, Bound, quantile
from counterrank.posterior.likelihood import log_likelihood
from counterrank.posterior.priors import PRIORS, SCOPES, Prior, choose_prior, read_prior

__all__ = [
    "BOUNDS", "PRIORS", "SCOPES", "Bound", "Prior", "Terms", "choose_prior", "log_likelihood", "quantile", "read_prior",
    "slope_rise", "terms",
]  # fmt: skip
