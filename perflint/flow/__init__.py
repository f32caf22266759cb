"""How values and control flow through a program: kinds, constants, calls, paths."""
