"""A machine of joints that only pinocchio has."""

import numpy as np
import pinocchio as pin


def composite_model():
    """Joint types of pinocchio that have no entry of their own in our table."""
    model = pin.Model()
    chain = pin.JointModelComposite(pin.JointModelRX())
    chain.addJoint(pin.JointModelPY(), pin.SE3.Random())
    chain.addJoint(pin.JointModelRevoluteUnaligned(0.6, 0.0, 0.8), pin.SE3.Random())
    joints = [
        ("composite", chain),
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
        number = model.addJoint(parent, joint, pin.SE3.Random(), name)
        model.appendBodyToJoint(number, pin.Inertia.Random(), pin.SE3.Identity())
        parent = max(0, number - 1)
    return model
