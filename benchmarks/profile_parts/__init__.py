"""What the benchmarks of ``perflint profile`` run."""
