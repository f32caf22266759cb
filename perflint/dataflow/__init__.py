"""What names, attributes and calls give: kinds of values, constants, and the functions that calls reach."""
