"""The compiled core. Private: `ragstone.engine` is its typed face and the only module that imports it."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import final

import numpy as np
from numpy.typing import NDArray

__version__: str

# --- text

# --- lexical

# --- dense

# --- rank

# --- tokens
