"""The pseudoinverse of the log's pair marginals, in every case where it is cheap."""
