"""Further facts about a project that rules need: loaders, AMP, gradients, devices, ranks, layers, evaluation."""
