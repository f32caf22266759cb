"""The methods of tensors: which there are, which read a tensor on the host, and the calls that return truth values.

Every other table of reads, by methods of tensors, conversions of Python and functions of NumPy, is built from these, so
that a new way to read has to be added in one place only.
"""

from __future__ import annotations

import ast

from perflint.syntax.names import Names, dotted
from perflint.syntax.scopes import terminal
from perflint.syntax.tree import string_of

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


# Lists the methods of tensors: a call of any other method shows that a value is not a tensor.

_OF_PADDLE = """
T abs abs_ acos acos_ acosh acosh_ add add_ add_n addmm addmm_ all allclose amax amin angle any apply apply_ argmax
argmin argsort argwhere as_complex as_real as_strided asin asin_ asinh asinh_ astype atan atan2 atan_ atanh atanh_
atleast_1d atleast_2d atleast_3d backward baddbmm baddbmm_ bernoulli_ bfloat16 bincount bitwise_and bitwise_and_
bitwise_invert bitwise_invert_ bitwise_left_shift bitwise_left_shift_ bitwise_not bitwise_not_ bitwise_or bitwise_or_
bitwise_right_shift bitwise_right_shift_ bitwise_xor bitwise_xor_ block block_diag bmm bool broadcast_shape
broadcast_shapes broadcast_tensors broadcast_to bucketize byte cast cast_ cauchy_ cdist cdouble ceil ceil_ cfloat char
cholesky cholesky_inverse cholesky_solve chunk clamp clamp_ clear_grad clear_gradient clip clip_ clone coalesce cols
combinations complex128 complex64 concat cond conj contiguous copy_ copysign copysign_ corrcoef cos cos_ cosh cosh_
count_nonzero cov cpu create_parameter create_tensor cross crows cuda cummax cummin cumprod cumprod_ cumsum cumsum_
cumulative_trapezoid data data_ptr deg2rad dense_dim detach detach_ device diag diag_embed diagflat diagonal
diagonal_scatter diff digamma digamma_ dim dist div div_ divide divide_ do_model_average dot double dsplit dtype eig
eigvals eigvalsh element_size eq equal equal_ equal_all erf erfinv erfinv_ exp exp_ expand expand_as expm1
exponential_ fill_ fill_diagonal_ fill_diagonal_tensor fill_diagonal_tensor_ flatten flatten_ flip float float16
float32 float64 floor floor_ floor_divide floor_divide_ floor_mod floor_mod_ fmax fmin frac frac_ frexp from_tensor
gammainc gammainc_ gammaincc gammaincc_ gammaln gammaln_ gather gather_nd gcd gcd_ ge geometric_ get_device
get_map_tensor get_selected_rows get_strides get_tensor grad grad_ grad_fn gradient greater greater_equal
greater_equal_ greater_than greater_than_ gt half heaviside histogram histogram_bin_edges histogramdd
householder_product hsplit hypot hypot_ i0 i0_ i0e i1 i1e imag increment index_add index_add_ index_fill index_fill_
index_put index_put_ index_sample index_select indices initialize inner inplace_version int int16 int32 int64 int8
inverse is_coalesced is_complex is_contiguous is_cuda is_dense is_dist is_distributed is_empty is_floating_point
is_integer is_leaf is_same_shape is_selected_rows is_sparse is_sparse_coo is_sparse_csr is_tensor isclose isfinite
isin isinf isnan isneginf isposinf isreal istft item itemsize kron kthvalue layout lcm lcm_ ldexp ldexp_ le lerp lerp_
less less_ less_equal less_equal_ less_than less_than_ lgamma lgamma_ log log10 log10_ log1p log1p_ log2 log2_ log_
log_normal_ logaddexp logcumsumexp logical_and logical_and_ logical_not logical_not_ logical_or logical_or_
logical_xor logical_xor_ logit logit_ logsumexp long lstsq lt lu lu_unpack mT masked_fill masked_fill_ masked_scatter
masked_scatter_ masked_select matmul matrix_power matrix_transpose max maximum mean median min minimum mm mod mod_
mode moveaxis msort mul mul_ multi_dot multigammaln multigammaln_ multinomial multiplex multiply multiply_ mv name
nan_to_num nan_to_num_ nanmean nanmedian nanquantile nansum narrow ndim ndimension ne need_clip neg neg_ negative
new_empty new_full new_ones new_zeros nextafter nnz nonzero norm normal_ not_equal not_equal_ num_shard numel numpy
offset optimize_attr ormqr outer pca_lowrank permute persistable pin_memory pinv place placements polar polygamma
polygamma_ pow pow_ process_mesh prod put_along_axis put_along_axis_ qr quantile rad2deg random_ rank ravel real
reciprocal reciprocal_ reconstruct_from_ reduce_as register_hook regularizer remainder remainder_ renorm renorm_
repeat repeat_interleave requires_grad requires_grad_ reshape reshape_ resize_ retain_grads reverse roll rot90 round
round_ rows rsqrt rsqrt_ scale scale_ scatter scatter_ scatter_add scatter_add_ scatter_nd scatter_nd_add
scatter_reduce select_scatter set_ set_init_func set_string_list set_tensor set_value set_vocab sgn shape shard_index
short sigmoid sigmoid_ sign signbit sin sin_ sinc sinc_ sinh sinh_ size slice slice_scatter slogdet softmax solve sort
sparse_dim split split_with_sizes sqrt sqrt_ square square_ squeeze squeeze_ stack stanh std stft stop_gradient stride
strided_slice strides sub sub_ subtract subtract_ sum svd_lowrank swapaxes swapdims t t_ take take_along_axis
take_along_dim tan tan_ tanh tanh_ tensor_split tensordot tile to to_dense to_sparse_coo to_sparse_csr tolist
top_p_sampling topk trace trainable transpose transpose_ trapezoid tril tril_ triu triu_ true_divide trunc trunc_ type
type_as uint8 unbind unflatten unfold uniform_ unique unique_consecutive unsqueeze unsqueeze_ unstack value values
vander var view view_as view_as_complex view_as_real vsplit where where_ zero_
"""
"""The attributes of ``paddle.Tensor`` and of parameters (paddlepaddle 3.3.1)."""

_OF_OLDER_PADDLE = """
append attr get_value grad_name has_name hash height id initialized is_dense_tensor_type is_same is_selected_row_type
has_valid_recursive_sequence_lengths lod lod_level place_attr recursive_sequence_lengths set set_lod
set_recursive_sequence_lengths set_shape sync_index to_string
"""
"""Additional attributes of tensors and variables in Paddle 1."""

_OF_TORCH = """
index_copy_ is_pinned is_shared log_softmax map_ nelement new_tensor record_stream relu retain_grad share_memory_
storage
"""
"""Leftovers in code that was ported from PyTorch."""

_TO_TENSORS = "tensor"
"""Methods of a graph of PGL: from that call on, it only contains tensors."""

_OF_CONTAINERS = frozenset(
    name for kind in (dict, list, tuple, set, str) for name in dir(kind) if not name.startswith("_")
)
"""Methods of containers: a container of tensors has the kind of a tensor itself."""

_OF_ARRAYS = """
T all any argmax argmin argpartition argsort astype base byteswap choose clip compress conj conjugate copy ctypes
cumprod cumsum data device diagonal dot dtype dump dumps fill flags flat flatten getfield imag item itemset itemsize mT
max mean min nbytes ndim newbyteorder nonzero partition prod ptp put ravel real repeat reshape resize round
searchsorted setfield setflags shape size sort squeeze std strides sum swapaxes take to_device tobytes tofile tolist
tostring trace transpose var view
"""
"""The attributes of ``numpy.ndarray`` (NumPy 1 and 2)."""

_TENSORS = frozenset({*_OF_PADDLE.split(), *_OF_OLDER_PADDLE.split(), *_OF_TORCH.split(), _TO_TENSORS})
_KNOWN = _TENSORS | _OF_CONTAINERS
_ARRAYS = frozenset(_OF_ARRAYS.split())


def may_have(method: str) -> bool:
    """Whether a tensor, or a container of tensors, may have a method, unlike ``number_of_nodes``, which a graph has.

    Names with a leading underscore are not listed, so they say nothing.
    """
    return method.startswith("_") or method in _KNOWN


def is_of_arrays(attribute: str) -> bool:
    """Whether an array of NumPy has an attribute."""
    return attribute in _ARRAYS


def is_of_arrays_alone(attribute: str) -> bool:
    """Whether an array has an attribute that tensors do not have: ``flat``, ``copy``."""
    return attribute in _ARRAYS and attribute not in _TENSORS


def may_have_as_container(attribute: str) -> bool:
    """Whether a container or string of Python has the attribute, too: ``copy``, ``sort``."""
    return attribute in _OF_CONTAINERS


# Finds calls that return truth values: comparisons, logical functions, casts, and functions that keep items.

BITWISE = (ast.BitAnd, ast.BitOr, ast.BitXor)
"""Operators that give truth values if one side has them, since Paddle requires equal types."""
_LOGICAL = frozenset({"logical_and", "logical_or", "logical_not", "logical_xor", "isnan", "isfinite", "isinf"})
COMPARING = _LOGICAL | {"equal", "not_equal", "greater_than", "greater_equal", "less_than", "less_equal"}
"""Functions, and methods of tensors, that always return truth values."""
_COMPARING = COMPARING | {"isclose", "isin", "any", "all", "eq", "ne", "gt", "ge", "lt", "le", "less"}
_KEEPING = frozenset(
    {"reshape", "flatten", "squeeze", "unsqueeze", "transpose", "expand", "expand_as", "broadcast_to", "tile", "flip"}
    | {"roll", "gather", "gather_nd", "index_select", "masked_select", "slice", "detach", "clone", "view", "t", "cuda"}
    | {"bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "split", "chunk", "unbind", "concat", "stack"}
    | {"contiguous", "permute", "swapaxes", "moveaxis", "broadcast_tensors", "repeat_interleave", "tril", "triu"}
    | {"ravel", "take_along_axis", "unstack", "index_sample", "assign"}
)
"""Functions and methods whose result consists of items of their first argument, or of those in a list."""
_CASTING = frozenset(
    {"astype", "cast", "to", "type", "to_tensor", "zeros", "ones", "full", "zeros_like", "ones_like", "full_like"}
)
_TRUTH_TYPES = frozenset({"bool", "paddle.bool", "numpy.bool_", "numpy.bool", "paddle.bool_"})


def compares(call: ast.Call, names: Names) -> bool:
    """Whether a call of Paddle or of a tensor's method gives truth values: ``x.equal(y)``, ``x.astype("bool")``."""
    name = terminal(call) or ""
    if name in _CASTING:
        handed = (*call.args, *(item.value for item in call.keywords))
        return any(_is_type_of_truth(value, names) for value in handed)
    return name in _COMPARING or name == "bool"


def _is_type_of_truth(node: ast.expr, names: Names) -> bool:
    """Whether an expression is the type of truth values, as passed to a cast: ``"bool"``, ``paddle.bool``."""
    written = string_of(node)
    return (written if written is not None else names.resolve(dotted(node) or "")) in _TRUTH_TYPES


def keeps_items(call: ast.Call) -> bool:
    """Whether the result of a call consists of items of its first argument: ``mask.flatten(1)``."""
    return terminal(call) in _KEEPING
