"""Which files a run reads, which of them are one project, and what stands beside them."""
