"""A regression of rewards on the features of pages."""
