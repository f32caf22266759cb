"""The device that everything is made on: the card if there is one, as with Paddle."""

from __future__ import annotations

import torch

ON_CARD = torch.cuda.is_available()
DEVICE = torch.device("cuda", 0) if ON_CARD else torch.device("cpu")
"""Named in each call that makes a tensor.  ``torch.set_default_device`` would do without, but it runs Python code at
every call of torch, and a slower host hides what a wait for the card costs."""
