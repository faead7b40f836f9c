"""Size the motors for a motion: torque, speed and power at their shafts, and verdicts."""

from pathlib import Path

import mbd_bridge as mbd
from mbd_bridge.applications.motors import Actuator, Efficiency, Friction, MotorCurve

URDF = Path(__file__).parents[1] / "urdf"
robot = mbd.load(URDF / "kuka_iiwa.urdf")
motion = robot.read_motion(URDF / "kuka_iiwa_motion.csv")
for note in motion.notes:
    print("note:", note)

# the same gears and motors at the first four joints; nothing is known of the last three
gears = {"ratio": 100.0, "rotor_inertia": 6e-5, "efficiency": Efficiency(0.85, 0.75)}
curve = MotorCurve(continuous=0.6, peak=2.0, max_speed=250.0)  # N m, rad/s, at the motor's shaft
shaft = Friction(coulomb=0.01, viscous=1e-5)  # N m, N m s/rad
motors = [
    Actuator(name, motor_friction=shaft, curve=curve, **gears)
    for name in robot.coordinate_names[:4]
]
duties = robot.with_actuators(motors).motors(motion).duties

print(f"{'':<18}{'peak':>9}{'RMS':>9}{'speed':>9}{'motoring':>9}{'braking':>9}")
print(f"{'motor of':<18}{'N m':>9}{'N m':>9}{'rad/s':>9}{'W':>9}{'W':>9}")
for duty in duties:
    row = (abs(duty.peak.value), duty.rms, abs(duty.fastest.value))
    row += (duty.motoring.value, duty.braking.value)
    print(f"{duty.name:<18}" + "".join(f"{x:9.2f}" for x in row))
for duty in duties:
    print(f"{duty.name}: {duty.verdict}")
