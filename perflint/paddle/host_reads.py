"""How code reads a tensor on the host: the methods of tensors, the conversions of Python, and the functions of NumPy.

Every other table of reads is built from these, so that a new way to read has to be added in one place only.
"""

from __future__ import annotations

READ_METHODS = frozenset({"item", "numpy", "tolist"})
"""Methods of tensors that wait for the device and return what they copy as numbers or arrays of the host."""

ARRAY_METHODS = READ_METHODS - {"item"}
"""Those that also exist for tensors of more than one item, and return all of these."""

COPYING_METHODS = READ_METHODS | {"cpu"}
"""Methods that wait and copy, including the one whose result is a tensor again."""

WATCHED_METHODS = COPYING_METHODS | {
    *("__float__", "__int__", "__long__", "__bool__", "__nonzero__", "__index__", "__array__", "__format__"),
    *("__str__", "__repr__", "gradient", "get_value", "__dlpack__"),
}
"""All methods of tensors that need the value on the host, including those that Python calls: a profile counts them."""

NUMBER_CONVERSIONS = frozenset({"float", "int"})
"""Conversions of Python that read the only item of a tensor, and stand for a number."""

CONVERSIONS = NUMBER_CONVERSIONS | {"bool"}
"""Conversions that read the only item of a tensor, including the test of its truth."""

ARRAY_FUNCTIONS = frozenset({"array", "asarray"})
"""Functions of NumPy that copy a tensor into an array."""

QUALIFIED_ARRAY_FUNCTIONS = frozenset(f"numpy.{name}" for name in ARRAY_FUNCTIONS)
"""The same functions by their qualified names."""
