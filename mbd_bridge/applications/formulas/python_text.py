"""A symbolic model as a Python function."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mbd_bridge.applications.formulas.writing import text
from mbd_bridge.base.errors import visible

if TYPE_CHECKING:
    from mbd_bridge.applications.formulas.model import SymbolicModel

HEAD = '''"""Equations of motion of {name}, in SI units.

M(q) a + C(i)_jk v_j v_k + K q + G(q) + phi_q' lambda = tau,  phi(q) = 0
q: {coordinates}
"""

import numpy as np
from numpy import cos, sin, sqrt


def equations({arguments}):
    """Return M (n, n), C (n, n, n), G (n,), K (n, n), phi (m,) and phi_q (m, n)."""
'''


def _in_docstring(text: str) -> str:
    """Return a text that neither ends a docstring nor means something else in one."""
    return visible(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")


def python_source(model: SymbolicModel) -> str:
    """Return the source of a module with one function of q, numbers of the mechanism by name."""
    names, algebra = model.short, model.algebra
    count = len(model.names)
    defaults = [
        f"{names[count + k]}={value!r}"
        for k, value in enumerate(map(float, model.parameters.values()))
    ]
    lines = [
        HEAD.format(
            name=_in_docstring(model.model.name),
            coordinates=_in_docstring(", ".join(model.names)),
            arguments=", ".join(["q", *defaults]),
        )
    ]
    lines.append(f"    {', '.join(names[:count])}{',' if count == 1 else ''} = q")
    for number, own in algebra.opaque.items():
        (inner,) = (text(one, algebra, names, python=True) for one in own.operands)
        function = "sqrt" if own.name == "sqrt" else "1.0 / "
        lines.append(f"    {names[number]} = {function}({inner})")
    shapes = {
        "M": (model.M, f"({count}, {count})"),
        "C": (model.C, f"({count}, {count}, {count})"),
        "G": (model.G, f"{count}"),
        "phi": (model.phi, f"{len(model.phi)}"),
        "phi_q": (model.phi_q, f"({len(model.phi)}, {count})"),
    }
    for label, (forms, shape) in shapes.items():
        lines.append(f"    {label} = np.zeros({shape})")
        for place, one in np.ndenumerate(forms):
            if one:
                index = ", ".join(map(str, place))
                lines.append(f"    {label}[{index}] = {text(one, algebra, names, python=True)}")
    lines.append(f"    K = np.array({model.K.tolist()!r})")
    lines.append("    return M, C, G, K, phi, phi_q")
    return "\n".join(lines) + "\n"
