"""What Paddle's calls do, as tables: each name stands here once."""
