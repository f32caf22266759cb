"""Parts of ``benchmarks/published_tables.py``."""
