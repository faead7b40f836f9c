"""Types of arrays of plain numbers; `model.spatial.Array` may hold symbols, too."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]
