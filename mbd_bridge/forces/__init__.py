"""Force elements: springs, dampers, bushings, friction, stops, drag, tyres on roads.

>>> spring = mbd.forces.PointSpring(("ground", "bob"), stiffness=100.0)      # doctest: +SKIP
>>> run = robot.simulate(1.0, forces=[spring])                          # doctest: +SKIP

To add an element, write one final frozen class in a file here, see `base.ForceElement`.
"""

from mbd_bridge.base.lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
