"""How the closed machines of `urdf/` are assembled."""

import numpy as np

STARTS = {
    "bricard": {},
    "crank_rocker": {
        "near": {"crank": 0.5, "rocker": 0.3},
        "fixed": "crank",
        "velocity": {"crank": 5.0},
    },
    "flexible_slider_crank": {
        "near": {"crank": 0.5},
        "fixed": "crank",
        "velocity": {"crank": 20.0},
    },
    "four_bar": {"near": {"crank": np.pi / 6}, "fixed": "crank"},
    "geared_five_bar": {"near": {"left_crank": 0.4}, "velocity": {"left_crank": 6.0}},
    "knee_linkage_leg": {"near": {"hip_pitch": -0.4, "knee": 0.6}, "fixed": ("hip_pitch", "knee")},
    "macpherson_car": {},
    "ralf": {"near": {"theta1": -0.3, "theta3": -0.2}, "fixed": ("theta1", "theta3")},
    "rrc_arm_gripping": {
        "near": {"joint_2": 1.0, "joint_4": 1.4, "joint_6": 0.7},
        "velocity": {"joint_1": 0.3},
    },
    "rssr": {"velocity": {"crank": 2.0, "ball_y": 3.0}},
    "spatial_slider_crank": {"near": {"crank": 0.3}, "fixed": "crank", "velocity": {"crank": 9.0}},
    "slider_crank": {"near": {"crank": 0.3}, "fixed": "crank", "velocity": {"crank": 20.0}},
    "stewart": {"velocity": {"platform.vx": 0.1, "platform.wz": 0.1}},
    "whipple_bicycle": {
        "near": {"steer": 0.02},
        "velocity": {"rear_wheel": 16.0},
        "fixed": ("rear_wheel", "steer"),
    },
}
"""How each is assembled for its second of motion."""
