"""A machine of joints that only pinocchio has."""

import numpy as np
import pinocchio as pin

TURNING_AXES = ("composite", "zyx", "cardan")
"""Joints with axes that turn with their own coordinates."""


def composite_model(without: tuple[str, ...] = (), *, chain: bool = False):
    """Joint types of pinocchio that have no entry of their own in our table, on two branches."""
    model = pin.Model()
    composite = pin.JointModelComposite(pin.JointModelRX())
    composite.addJoint(pin.JointModelPY(), pin.SE3.Random())
    composite.addJoint(pin.JointModelRevoluteUnaligned(0.6, 0.0, 0.8), pin.SE3.Random())
    joints = [
        ("composite", composite),
        ("translation", pin.JointModelTranslation()),
        ("zyx", pin.JointModelSphericalZYX()),
        ("cardan", pin.JointModelUniversal(np.array([1.0, 0, 0]), np.array([0, 1.0, 0]))),
        ("screw", pin.JointModelHX(0.3)),
        ("ball", pin.JointModelSpherical()),
        ("endless", pin.JointModelRUBY()),
        ("free", pin.JointModelFreeFlyer()),
    ]
    pin.seed(1)
    parent = 0
    for name, joint in joints:
        if name in without:
            continue
        number = model.addJoint(parent, joint, pin.SE3.Random(), name)
        model.appendBodyToJoint(number, pin.Inertia.Random(), pin.SE3.Identity())
        parent = number if chain else max(0, number - 1)
    return model
