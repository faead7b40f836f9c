"""mbd_bridge: the load in any joint of any machine, in machine code made for that machine.

>>> import mbd_bridge as mbd
>>> robot = mbd.load("urdf/kuka_iiwa.urdf")                          # doctest: +SKIP
>>> loads = robot.joint_loads(q, v, a, joints=["lbr_iiwa_joint_3"])  # doctest: +SKIP

Public names are in ``__init__.pyi``; each is imported when first used.
"""

import mbd_bridge.base.search_path  # first: see there

# isort: split
import mbd_bridge.base.forking  # noqa: F401 - a fork waits for imports that go on from here
from mbd_bridge.base.lazy import public_names

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
