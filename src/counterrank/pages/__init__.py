"""Results as pages and pictures: what `.report()` writes and `.plot()` draws."""
