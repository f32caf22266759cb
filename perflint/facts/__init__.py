"""What rules ask of a project beyond that: loaders, AMP, gradients, devices, ranks, layers, evaluation."""
