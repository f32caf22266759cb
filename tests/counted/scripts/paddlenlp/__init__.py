"""A stand-in for PaddleNLP, with what the scripts use of it."""
