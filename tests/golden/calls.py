"""Calls of the Python interface whose numbers are golden: each returns arrays and texts by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

import mbd_bridge as mbd

Values = Mapping[str, object]

CALLS: dict[str, Callable[[], Values]] = {}


def golden(call: Callable[[], Values]) -> Callable[[], Values]:
    """Add a function to `CALLS` under its name in words."""
    CALLS[call.__name__.replace("_", " ")] = call
    return call


def states(number: int, size: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return random q, v, a of (number, size)."""
    rng = np.random.default_rng(seed)
    q, v, a = (rng.uniform(-1.0, 1.0, (number, size)) for _ in range(3))
    return q, v, a


def iiwa() -> mbd.Mechanism:
    """Return the arm with seven axes."""
    return mbd.load("urdf/kuka_iiwa.urdf")


def four_bar() -> tuple[mbd.Mechanism, np.ndarray]:
    """Return the four-bar and a position of it."""
    bar = mbd.load("urdf/four_bar.urdf")
    return bar, bar.assemble({"crank": 0.5}, fixed="crank").q


@golden
def loads_of_states() -> Values:
    """Return loads of many states and of one, about every body, point and frame."""
    robot = iiwa()
    q, v, a = states(5, 7)
    joints = ["lbr_iiwa_joint_3", "lbr_iiwa_joint_ee"]
    loads = robot.joint_loads(q, v, a, joints=joints)
    other = robot.joint_loads(q[0], v[0], a[0], joints, on="parent", in_="world")
    return {
        "force": loads.force,
        "moment": loads.moment,
        "actuation": loads.actuation,
        "others force": other.force,
        "others moment": other.moment,
        "printed": str(loads),
    }


@golden
def loads_with_payload_and_wrench() -> Values:
    """Return loads with a payload and an external wrench."""
    robot = iiwa().with_payload("lbr_iiwa_link_ee", 5.0, (0, 0, 0.1))
    q, v, a = states(3, 7)
    wrench = {"lbr_iiwa_link_5": [1.0, 2.0, 3.0, 0.1, 0.2, 0.3]}
    loads = robot.joint_loads(q, v, a, ["lbr_iiwa_joint_2"], external=wrench, external_in="world")
    return {"force": loads.force, "moment": loads.moment, "actuation": loads.actuation}


@golden
def loads_of_a_redundant_loop() -> Values:
    """Return the loads of a planar loop and which of them rigid mechanics determines."""
    bar, q = four_bar()
    v = bar.assemble({"crank": 0.5}, fixed="crank", velocity={"crank": 2.0}).v
    loads = bar.joint_loads(q, v, 0 * v, ["coupler_pin", "elbow"], actuated=["crank"])
    return {"force": loads.force, "moment": loads.moment, "determined": loads.determined}


@golden
def dynamics_of_a_tree() -> Values:
    """Return inverse and forward dynamics, mass matrix and bias of the arm."""
    robot = iiwa()
    q, v, a = states(3, 7)
    tau = robot.inverse_dynamics(q, v, a)
    return {
        "tau": tau,
        "acceleration": robot.forward_dynamics(q, v, tau),
        "mass matrix": robot.mass_matrix(q[0]),
        "bias": robot.bias_forces(q[0], v[0]),
    }


@golden
def floating_base() -> Values:
    """Return loads and dynamics of a humanoid."""
    robot = mbd.load("urdf/humanoid.urdf", floating=True)
    rng = np.random.default_rng(1)
    q = np.zeros(robot.nq)
    q[6] = 1.0
    v, a = rng.uniform(-1, 1, (2, robot.nv))
    return {"tau": robot.inverse_dynamics(q, v, a), "mass matrix": robot.mass_matrix(q)}


@golden
def assembled_platform() -> Values:
    """Return the Stewart platform as assembled, and completed from its pose."""
    robot = mbd.load("urdf/stewart.urdf")
    time = np.linspace(0.0, 0.5, 11)
    zero, wave = 0 * time, np.sin(np.pi * time)
    pose = {"top.x": 0.1 * wave, "top.y": zero, "top.z": 1.1 + 0.05 * wave}
    pose |= {"top.roll": 0.1 * wave, "top.pitch": zero, "top.yaw": zero}
    motion = robot.complete(pose, time, frames={"top": "platform"})
    legs = [f"leg_{k}" for k in range(1, 7)]
    loads = robot.joint_loads(motion, joints=legs, actuated=legs)
    return {"q": motion.q, "a": motion.a, "actuation": loads.actuation, "notes": motion.notes}


@golden
def simulated_loop() -> Values:
    """Return a motion of the four-bar with loads, a torque and an external wrench."""
    bar, q = four_bar()
    system = mbd.System(
        bar,
        torque={"crank": "5*sin(9*t)"},
        external={"coupler": [0.0, 0.0, -3.0, 0.0, 0.0, 0.0]},
        external_in="world",
        parameters={"rocker.mass": 2.0},
        loads=["coupler_pin"],
    )
    run = system.simulate(0.2, q=q, every=20)
    many = system.simulate(0.2, q=[q, q], every=20)
    loads = run.joint_loads()
    return {
        "q": run.q,
        "v": run.v,
        "a": run.a,
        "energy": run.energy,
        "force": loads.force,
        "batch q": many.q[1],
        "status": run.status,
        "printed": str(run),
    }


@golden
def null_space_methods() -> Values:
    """Return where the papers' methods take the four-bar, and Lee's multipliers."""
    bar, q = four_bar()
    ends: dict[str, object] = {}
    for method in ("svd", "qr", "projection", "multipliers"):
        run = bar.simulate(0.02, q=q, method=method)
        ends[method] = np.concatenate([run.q[-1], run.v[-1]])
    return ends


@golden
def implicit_integrators() -> Values:
    """Return where implicit schemes take two stiff sliders, and what they counted."""
    built = mbd.Builder("slider", root="rail").link("mass", 1.0).link("bob", 1.0)
    built.joint("slide", "prismatic", "rail", "mass", axis=(1.0, 0.0, 0.0))
    built.joint("mount", "prismatic", "mass", "bob", axis=(1.0, 0.0, 0.0))
    springs = [
        mbd.forces.JointSpring("slide", stiffness=10.0),
        mbd.forces.JointSpring("mount", stiffness=1e6, damping=10.0),
    ]
    system = mbd.System(mbd.Mechanism.build(built.description()), forces=springs)
    ends: dict[str, object] = {}
    for name in ("generalised_alpha", "hht", "newmark"):
        run = system.simulate(0.5, step=0.01, q=[0.1, 0.0], integrator=name)
        ends[name] = np.concatenate([run.q[-1], run.v[-1]])
    scheme = mbd.integrators.GeneralisedAlpha(tolerance=1e-4)
    run = system.simulate(0.5, step=0.1, q=[0.1, 0.0], integrator=scheme)
    return {**ends, "variable": run.q[-1], "facts": str(run.facts)}


@golden
def simulated_events_and_samples() -> Values:
    """Return a bouncing pendulum and a crank under a sampled controller."""

    def wall(t: float, q: np.ndarray, v: np.ndarray) -> float:
        return float(q[0])

    wall.direction = 1  # type: ignore[attr-defined]
    wall.action = lambda t, q, v: (q, -0.5 * v)  # type: ignore[attr-defined]
    coil = mbd.forces.JointSpring("hinge", stiffness=4.0, name="coil")
    run = mbd.load("urdf/pendulum.urdf").simulate(
        2.0, q=[-0.5], forces=[coil], events={"wall": wall}
    )
    bar, q = four_bar()

    def controller(t: float, q: np.ndarray, v: np.ndarray) -> float:
        return float(np.clip(200.0 * (1.0 - q[0]) - 40.0 * v[0], -60.0, 60.0))

    held = bar.simulate(0.3, q=q, torque={"crank": mbd.Sampled(controller)}, every=50)
    return {"bounces": run.events["wall"].time, "q": held.q, "tau": held.tau}


@golden
def force_elements() -> Values:
    """Return forces and energies of a spring and friction in a loop."""
    bar, q = four_bar()
    spring = mbd.forces.PointSpring(
        links=("ground", "coupler"),
        points=((0.0, 0.0, 1.5), (0.5, 0.0, 0.0)),
        stiffness=40.0,
        damping=2.0,
        free_length=1.0,
        name="spring",
    )
    friction = mbd.forces.JointFriction("crank", coulomb=0.1, viscous=0.05, name="bearing")
    run = bar.simulate(0.2, q=q, forces=[spring, friction], every=20)
    parts = run.force_elements
    return {
        "spring": parts["spring"]["force"],
        "energy": run.energy + parts.energy,
        "dissipation": parts.dissipation,
        "printed": str(parts),
    }


@golden
def vehicle() -> Values:
    """Return the six-wheeler on its tyres, by an implicit scheme."""
    car = mbd.load("urdf/six_wheeler.urdf")
    run = car.simulate(0.1, step=0.01, integrator="generalised_alpha")
    return {"q": run.q[-1], "v": run.v[-1], "facts": str(run.facts)}


@golden
def flexible_links() -> Values:
    """Return a flexible pendulum's motion and what acts inside it."""
    robot = mbd.load("urdf/flexible_pendulum.urdf")
    q = np.zeros(robot.nq)
    q[0] = 0.5
    run = robot.simulate(0.05, step=1e-4, q=q, every=50)
    cut = robot.section_loads("strip", [0.0, 0.5], run.q[-1], run.v[-1], run.a[-1])
    return {"q": run.q, "bending": cut.bending, "axial": cut.axial}


@golden
def small_motions() -> Values:
    """Return the bicycle's eigenvalues, and a pendulum's equilibrium."""
    bicycle = mbd.load("urdf/whipple_bicycle.urdf")
    steady = mbd.linear.steady_motion(bicycle, {"rear_wheel": 5.0 / 0.3})
    model = mbd.linear.linearise(bicycle, steady, coordinates=["frame.rx", "steer", "rear_wheel"])
    return {"steady q": steady.q, "eigenvalues": np.sort_complex(model.eigenvalues)}


@golden
def motors() -> Values:
    """Return what a motor has to do along a recording."""
    from mbd_bridge.applications.motors import Actuator, Efficiency, Friction

    motor = Actuator(
        "lbr_iiwa_joint_2",
        ratio=100.0,
        rotor_inertia=6e-5,
        efficiency=Efficiency(motoring=0.85, braking=0.75),
        motor_friction=Friction(coulomb=0.01, viscous=1e-5),
    )
    robot = iiwa()
    duty = robot.with_actuators([motor]).motors(robot.read_motion("short.csv"))
    entry = duty["lbr_iiwa_joint_2"]
    return {"peak": entry.peak.value, "rms": entry.rms, "printed": str(duty)}


@golden
def bearings_and_spectra() -> Values:
    """Return bearing terms, rating lives, and damage-equivalent loads."""
    from mbd_bridge.applications.bearings import Bearing

    robot = iiwa()
    motion = robot.read_motion("short.csv")
    pair = (
        Bearing(C=15.9e3, C0=11e3, position=-0.05),
        Bearing(C=15.9e3, C0=11e3, position=0.05),
    )
    duties = robot.bearings(motion, "lbr_iiwa_joint_2", {"lbr_iiwa_joint_2": pair}).duties
    loads = robot.joint_loads(motion, joints=["lbr_iiwa_joint_5"])
    bending = loads.spectra(exponents=[3, 5, 10])["lbr_iiwa_joint_5.my"]
    return {
        "radial": [duty.radial.value for duty in duties],
        "axial": [duty.axial.value for duty in duties],
        "equivalent": [bending.damage_equivalent(m) for m in (3, 5, 10)],
        "printed": str(bending),
    }


@golden
def history() -> Values:
    """Return the loads of a file that is read in pieces."""
    robot = iiwa()
    whole = robot.load_history("noisy.csv", ["lbr_iiwa_joint_5"], smooth="auto")
    peak = whole["lbr_iiwa_joint_5.my"].peak
    return {"peak": peak.value, "time": peak.time, "printed": str(whole)}


@golden
def smoothed_recording() -> Values:
    """Return a noisy recording, smoothed, with its uncertainty."""
    robot = iiwa()
    motion = robot.read_motion("noisy.csv", smooth="auto")
    loads = robot.joint_loads(motion, joints=["lbr_iiwa_joint_2"])
    return {
        "q": motion.q[::40],
        "a": motion.a[::40],
        "actuation": loads.actuation[::40],
        "notes": motion.notes,
    }


@golden
def inverse_kinematics() -> Values:
    """Return joint angles along a path of a tool."""
    turn = np.linspace(0.0, 2.0 * np.pi, 21)
    circle = np.column_stack([0 * turn, np.cos(turn), np.sin(turn)])
    near = {"lbr_iiwa_joint_2": 0.5, "lbr_iiwa_joint_4": -1.2, "lbr_iiwa_joint_6": 0.9}
    path = iiwa().inverse_kinematics(
        "lbr_iiwa_link_ee",
        np.array([0.6, 0.0, 0.5]) + 0.1 * circle,
        [0.0, 1.0, 0.0, 0.0],
        turn,
        near=near,
    )
    return {"q": path.q, "a": path.a}


@golden
def real_time_steps() -> Values:
    """Return the motion of steps in a loop of one's own, and the right-hand side."""
    robot = mbd.load("urdf/crank_rocker.urdf")
    start = robot.assemble({"crank": 0.5}, fixed="crank", velocity={"crank": 3.0})
    system = mbd.System(robot, torque={"crank": mbd.Input("motor", 0.5)}, loads=["coupler_pin"])
    f = robot.right_hand_side(q=start.q, v=start.v)
    source = mbd.Equations(system, q=start.q, v=start.v).step_source("step")
    return {"rate": f(0.0, f.start), "source": source}


@golden
def study_of_variants() -> Values:
    """Return outputs of a small study."""
    rocker = mbd.load("urdf/crank_rocker.urdf")
    design = mbd.studies.grid({"coupler.mass": [0.5, 1.0, 2.0], "crank.vel": [1.0, 5.0]})
    table = rocker.study(
        design,
        duration=0.05,
        near={"crank": 0.5},
        outputs={"pin": "peak coupler_pin.force", "end": "final rocker"},
    )
    return {"pin": table["pin"], "end": table["end"], "printed": str(table)}


@golden
def symbolic_equations() -> Values:
    """Return the four-bar's equations as text."""
    return {"text": mbd.load("urdf/four_bar.urdf").symbolic().text(["M", "C", "phi"])}
