"""Finds calls that may load, move or upload a checkpoint, which would fail if the save is not finished."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from perflint.syntax.names import dotted
from perflint.syntax.scopes import terminal

if TYPE_CHECKING:
    from perflint.index.project import FileIndex

_LOADS = frozenset({"load", "load_dygraph", "load_state_dict", "load_inference_model", "create_predictor"})
_FILE_CALLS = re.compile(
    r"os\.(rename|replace|remove|unlink|link|symlink|system|popen|spawn\w+|exec\w+)"
    r"|shutil\.(copy\w*|move|rmtree|make_archive)|subprocess\.\w+"
)
_TELLING = re.compile(r"(?:load|read|restore)_?(?:model|checkpoint|ckpt|weights?|params|pretrained?|state)\w*", re.I)
_UPLOADS = re.compile(
    r"from_pretrained|set_state_dict_from|upload\w*|put_object|push_to_hub|log_artifact|save_artifact"
)


def uses_a_checkpoint(file: FileIndex, call: ast.Call) -> bool:
    """Whether a call may read, move or upload a checkpoint: ``paddle.load``, ``self.model.load``, ``shutil.copy``."""
    written, last = dotted(call.func) or "", terminal(call) or ""
    if _TELLING.fullmatch(last) or _UPLOADS.fullmatch(last):
        return True
    name = file.names.resolve(written)
    if _FILE_CALLS.fullmatch(name) is not None:
        return True
    if not file.names.is_bound(written.partition(".")[0]):
        return last == "load" and isinstance(call.func, ast.Attribute)  # a method of some object
    return last in _LOADS and name.startswith(("paddle.", "torch."))
