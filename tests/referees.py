"""Numbers that others printed, beside ours: one function a referee.

python -m tests.referees        prints the table of docs/theory/who_agrees.md

Machines and numbers are those of the source that each function names; nothing of its code is here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

import mbd_bridge as mbd
from mbd_bridge.forces import PointSpring
from tests.flexible.rotors import PUBLISHED, printed_frequencies, spin_up
from tests.machines import four_bar, n_four_bar
from tests.oracles import adams, whipple
from tests.robots import own_urdfs

X, Y, Z = np.eye(3)
STANDARD = 9.80665
"""m/s², of most of these programs."""


def apart(ours: object, theirs: object) -> float:
    """Return the largest difference, relative to the largest number that they print."""
    found, expected = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def opensim() -> float:
    """Two rods on square pins: `Applications/Analyze/test` of opensim-core."""
    b = mbd.Builder("rods")
    b.link("rod1", 0.75, (0, -0.5, 0), (0.025,) * 3).link("rod2", 1.25, (0, -0.5, 0), (0.025,) * 3)
    b.joint("pin1", "revolute", "base", "rod1", axis=Z)
    b.joint("pin2", "revolute", "rod1", "rod2", (0, -0.5, 0), axis=X)
    machine = mbd.Mechanism.build(b, gravity=-STANDARD * Y)
    q, rest = np.ones(2), np.zeros(2)
    a = machine.forward_dynamics(q, rest, rest)
    loads = machine.joint_loads(q, rest, a, ["pin1", "pin2"])
    return max(
        apart(loads.force[0], (1.4197399807, 6.2547890157, 2.7881730213)),
        apart(loads.force[1], (-0.5406277584, 3.5785272664, -0.4128315556)),
        apart(loads.moment[0], (-1.3940865107, 0.2274612861, 0)),
        apart(loads.moment[1], (0, -0.2372185712, -0.4226301721)),
    )


def rod(way: object, diameter: float, density: float) -> tuple[float, np.ndarray, np.ndarray]:
    """Return mass, centre and inertia of a solid cylinder along a way from the origin."""
    vector = np.asarray(way, dtype=float)
    length, radius = float(np.linalg.norm(vector)), diameter / 2
    mass = density * np.pi * radius**2 * length
    along = np.outer(vector, vector) / length**2
    across = mass * (length**2 + 3 * radius**2) / 12 * (np.eye(3) - along)
    return mass, vector / 2, across + mass * radius**2 / 2 * along


def fourbar1() -> mbd.Mechanism:
    """Return Modelica's `MultiBody.Examples.Loops.Fourbar1`, cut where j2's arm carries b3."""
    b = mbd.Builder("Fourbar1")
    for name, way in (("b1", (0, 0.5, 0.1)), ("b2", (0, 0.2, 0)), ("b3", (1, -0.3, -0.1))):
        b.link(name, *rod(way, 0.05, 7700.0))
    b.joint("j1", "revolute", "base", "b1", axis=X)
    b.joint("j3", "revolute", "b1", "after_j3", (0, 0.5, 0.1), axis=X)
    b.joint("j4", "revolute", "after_j3", "after_j4", axis=Y)
    b.joint("j5", "revolute", "after_j4", "b3", axis=Z)
    b.joint("j2", "prismatic", "base", "b2", (1.2, 0, 0), axis=X)
    b.loop("rev", "universal", "b2", "b3", Y, Z, xyz=(0, 0.2, 0), xyz2=(1, -0.3, -0.1))
    return mbd.Mechanism.build(b, gravity=-STANDARD * Y)


FOURBAR1 = {
    0.5: (4.533812569, 8.874775521),
    1.0: (7.802163425, 9.361708248),
    2.5: (19.86744126, 7.82991623),
    5.0: (40.32916547, 11.74044283),
}
"""t -> angle and rate of j1: Dymola's, integrated again."""


def modelica() -> float:
    """The spatial four-bar for 5 s: angle and rate of its crank."""
    machine = fourbar1()
    start = machine.assemble(
        {"j1": 0.0, "j2": -0.2}, fixed="j1", velocity={"j1": np.deg2rad(300.0)}
    )
    run = machine.simulate(5.0, step=5e-4, q=start.q, v=start.v, every=1000)
    records = [round(t / 0.5) for t in FOURBAR1]
    j1 = machine.coordinate_names.index("j1")
    return apart(np.column_stack([run.q[records, j1], run.v[records, j1]]), [*FOURBAR1.values()])


def joint_ssr() -> float:
    """What the ground carries beside a rod between two balls: `ModelicaTest`'s JointSSR.

    The rod, 1 kg at its middle, runs from the origin to a massless arm on a pin at (1.5, 0.1, 0).
    """
    b = mbd.Builder("JointSSR").link("rod", 1.0, (0.5, 0.15, 0))
    b.joint("ball", "spherical", "base", "rod")
    b.joint("pin", "revolute", "base", "arm", (1.5, 0.1, 0), axis=Z)
    b.loop("im", "spherical", "rod", "arm", xyz=(1, 0.3, 0), xyz2=(-0.5, 0.2, 0))
    machine = mbd.Mechanism.build(b, gravity=-STANDARD * Y)
    q, rest = machine.neutral(), np.zeros(machine.nv)
    loads = machine.joint_loads(q, rest, rest, ["pin"], on="parent", in_="world", actuated=())
    return apart([*loads.force[0], *loads.moment[0]], (7.00475, -2.8019, 0, 0, 0, 0))


EPS, BASE = 0.01, "asin(0.1*sin(10*t))"
CAR_AXIS = (0.0493455784275402809, 0.496989460230171154, 1.04174252488542152, 0.373911027265361257)
CAR_RATES = (-0.0770583684040972, 0.00744686658723779, 0.0175568157537232, 0.770341043779251976)
CAR_MULTIPLIERS = (-0.00473688659084893, -0.00110468033125734)


def car_axis() -> float:
    """A rod between two springs on a moved base (IVP test set, index 3): state, forces at 3 s.

    The left end slides square to the base's bar; a distance cut keeps the rod's length. Their
    multipliers are forces: λ1 across the slider, 2 λ2 in the rod.
    """
    mass = EPS**2 * 10 / 2
    b = mbd.Builder("car axis").link("left", mass).link("right", mass)
    b.joint("tilt", "revolute", "base", "bar", axis=Z)
    b.joint("slide", "prismatic", "bar", "left", (0, 0.5, 0), axis=Y)
    b.joint("x", "prismatic", "base", "carrier", (1, 0.5, 0), axis=X)
    b.joint("y", "prismatic", "carrier", "right", axis=Y)
    b.loop("rod", "distance", "left", "right", length=1.0)
    machine = mbd.Mechanism.build(b, gravity=-Y)
    springs = [
        PointSpring(("ground", "left"), stiffness=1.0, free_length=0.5),
        PointSpring(("bar", "right"), (X, (0, 0, 0)), stiffness=1.0, free_length=0.5),
    ]
    start = machine.assemble(near={"slide": 0.0}, velocity={"x": -0.5, "tilt": 1.0})
    run = machine.simulate(
        3.0, step=1e-4, q=start.q, v=start.v, forces=springs, prescribed={"tilt": BASE}, every=30000
    )
    q, v = (dict(zip(machine.coordinate_names, x[-1], strict=True)) for x in (run.q, run.v))
    sine, cosine, height = np.sin(q["tilt"]), np.cos(q["tilt"]), 0.5 + q["slide"]
    turn = v["tilt"] * height
    place = -sine * height, cosine * height, 1 + q["x"], 0.5 + q["y"]
    rates = (
        -cosine * turn - sine * v["slide"],
        -sine * turn + cosine * v["slide"],
        v["x"],
        v["y"],
    )
    loads = run.joint_loads(["slide", "rod"])
    across, along = loads.force[-1, 0, 0], np.linalg.norm(loads.force[-1, 1])
    return max(
        apart(place, CAR_AXIS),
        apart(rates, CAR_RATES),
        apart((across, -along / 2), CAR_MULTIPLIERS),
    )


def fedem() -> float:
    """FEDEM's double wishbone (`TimeDomain/CarSuspension`) at 0.5 s: force of spring and damper.

    Its arms and knuckle are finite elements, whose files are not here: ours are rigid, with masses
    and centres of those meshes, and come to rest under the wheel force of that instant.
    """
    low, top, wheel = np.array([(0, -160, 87), (0, -145, 298), (3.12, -215, 200)]) / 1e3
    front, rear, tie = (
        np.array(
            [
                (171.6845, 38.82856, 79.81566),
                (84.2875, -20, 286.52272),
                (85.25102, -201.314, 185.4661),
            ]
        )
        / 1e3
    )
    strut, mount = np.array([(6.03329, -79.78369, 82.61359), (0, 0, 300)]) / 1e3
    b = mbd.Builder("SLA")
    b.link("lower", 0.5399, np.array((0.01587, -0.05056, 0.07203)) - front)
    b.link("upper", 0.2640, np.array((0.00057, -0.09789, 0.30128)) - rear)
    b.link("knuckle", 1.4517, np.array((0.00513, -0.19929, 0.18808)) - low, (5e-3, 5e-3, 2e-3))
    b.joint("lower", "revolute", "base", "lower", front, axis=X)
    b.joint("ball", "spherical", "lower", "knuckle", low - front)
    b.joint("wheel", "fixed", "knuckle", "wheel", wheel - low)
    b.joint("upper", "revolute", "base", "upper", rear, axis=(-0.16741732, 0, 0.02952018))
    b.loop("top", "spherical", "upper", "knuckle", xyz=top - rear, xyz2=top - low)
    b.loop("tie", "mask", "base", "knuckle", xyz=tie, xyz2=tie - low, rows=(1, 0, 0, 0, 0, 0))
    machine = mbd.Mechanism.build(b)
    links, points = ("ground", "lower"), (mount, strut - front)
    spring = PointSpring(links, points, 7.5e5, 3000.0, free_length=0.2316434524, name="strut")
    push = {"wheel": (0, 0, -3889.228, 0, 0, 0)}
    at = machine.assemble({"lower": 0.0}, fixed="lower")
    run = machine.simulate(
        0.1, step=1e-4, q=at.q, external=push, external_in="world", forces=[spring]
    )
    return apart(run.force_elements["strut"]["force"][-1], 6866.440 - 24.570549)


def berkof_lowen() -> float:
    """Two counterweights in closed form against the shaking force of a four-bar in motion (1969).

    The largest force on the ground, relative to that without them.
    """
    (a1, a2, a3, a4), m3, c3 = (
        (1.0, 0.3, 0.9, 0.7),
        2.0,
        0.35 + 0.12j,
    )  # m, kg; the coupler's centre
    weights = m3 * (c3 - a3) * a2 / a3, -m3 * c3 * a4 / a3  # kg m, from the ground pins

    def shaking(crank: complex, rocker: complex) -> float:
        b = mbd.Builder("four-bar")
        for name, mass, moment in (
            ("crank", 3, crank),
            ("coupler", m3, m3 * c3),
            ("rocker", 4, rocker),
        ):
            centre = np.array([moment.real, moment.imag, 0]) / mass
            b.link(name, mass, centre, 0.02 * np.ones(3))
        b.joint("crank", "revolute", "base", "crank", axis=Z)
        b.joint("elbow", "revolute", "crank", "coupler", a2 * X, axis=Z)
        b.joint("rocker", "revolute", "base", "rocker", a1 * X, axis=Z)
        b.loop("pin", "revolute", "coupler", "rocker", Z, xyz=a3 * X, xyz2=a4 * X)
        machine = mbd.Mechanism.build(b, gravity=(0, 0, 0))
        force = 0.0
        near = {"elbow": -0.5, "rocker": 1.5}
        for angle in np.linspace(0, 2 * np.pi, 24):
            at = machine.assemble({**near, "crank": angle}, fixed="crank", velocity={"crank": 20})
            near = dict(zip(machine.coordinate_names, at.q, strict=True))
            loads = machine.joint_loads(at.q, at.v, at.a, ["root_joint"], actuated=["crank"])
            force = max(force, float(np.abs(loads.force).max()))
        return force

    return shaking(*weights) / shaking(0.4 + 0.1j, 1.1 - 0.3j)


def adams_joint(name: str) -> np.ndarray:
    """Return force and moment on the ground after 1 s, as `adams.CASES` has them."""
    kind, place, roll, *_ = adams.CASES[name]
    b = mbd.Builder(name).link("body", adams.MASS, adams.CENTRE, adams.INERTIA)
    b.joint("joint", kind, "base", "body", place, (roll, 0, 0), Z)
    run = mbd.Mechanism.build(b, gravity=adams.GRAVITY).simulate(1.0)
    load = run.joint_loads(["joint"], on="parent", at="parent", in_="world")["joint"]
    return np.array([load.force[-1], load.moment[-1]])


def adams_joints() -> float:
    """Reactions of four joints after 1 s: Project Chrono's validation data, made with ADAMS."""
    return max(apart(adams_joint(name), case[3:]) for name, case in adams.CASES.items())


def pendulum() -> float:
    """IFToMM A01: 1 kg at 1 m, released level; place after 5 and 10 s, tension of the rod."""
    b = mbd.Builder("pendulum").link("bob", 1.0, (-1, 0, 0))
    b.joint("pin", "revolute", "base", "bob", axis=Y)
    run = mbd.Mechanism.build(b).simulate(10.0, every=5000)
    angle = run.q[1:, 0]
    places = (-0.9423054350, -0.3347543384), (-0.2750874626, -0.9614192050)
    tension = np.linalg.norm(run.joint_loads(["pin"])["pin"].force[-1])
    return max(
        apart(np.column_stack([-np.cos(angle), np.sin(angle)]), places),
        apart(tension, 28.2945671),
    )


def rows_of_four_bars() -> float:
    """IFToMM A02: the first crank's tip after 10 s, through singular positions."""
    tips = {1: (0.4783850578, 0.8781501788), 2: (0.3284581115, 0.9445185382)}
    worst = 0.0
    for windows, tip in tips.items():
        row = n_four_bar(windows)
        at = row.assemble(velocity={"crank0": 1.0}, fixed="crank0")
        angle = row.simulate(10.0, q=at.q, v=at.v, every=10_000).q[-1, 0]
        worst = max(worst, apart([np.sin(angle), np.cos(angle)], tip))
    return worst


BRICARD_TIPS = {
    "rod_1": (X, (0.510501, 0, -0.859877)),
    "rod_2": (-Y, (0.274481, -0.886708, -0.462330)),
    "rod_3": (Z, (0.510501, -1.649168, 0.140123)),
    "rod_4": (-X, (0, -0.886708, 0.537670)),
}
"""Rod -> its far end in its own frame, where that is after 1 s."""


def bricard() -> float:
    """IFToMM A04, another code's converged figures: six digits, with an error of about 1e-6."""
    machine = mbd.load(own_urdfs()["bricard"])
    q = machine.simulate(1.0, every=1000).q[-1]
    world = np.linalg.inv(machine.placement(q, "world"))
    turn = np.array([[1, 0, 0], [0, 0, 1], [0, -1, 0]])
    ends = [
        turn @ (world @ machine.placement(q, rod) @ np.append(end, 1.0))[:3]
        for rod, (end, _) in BRICARD_TIPS.items()
    ]
    return apart(ends, [tip for _, tip in BRICARD_TIPS.values()])


def drake() -> float:
    """Two uniform 4 m cranks on pins 2 m apart, under a 4 m bar: the angle of balance."""
    bar, rest = four_bar(4, 4, 4, 2), np.zeros(3)

    def falls(angle: float) -> float:
        near = {"crank": angle, "elbow": -angle, "wrist": -angle}
        at = bar.assemble(near, fixed="crank")
        return float(bar.forward_dynamics(at.q, rest, rest)[0])

    angle = brentq(falls, -0.5, 0.0, xtol=1e-14)  # from upright
    return apart(np.pi / 2 + angle, np.arctan(np.sqrt(15)))


def adams_springs() -> float:
    """A free body on springs between points for 5 s: places and forces on the ground."""
    b = mbd.Builder("body", root="body").link("body", 1.0, inertia=adams.INERTIA)
    body = mbd.Mechanism.build(b, floating=True, gravity=adams.GRAVITY)
    worst = 0.0
    for centre, points, (stiffness, damping), expected in adams.SPRINGS.values():
        q = np.array([*centre, 0, 0, 0, 1])
        spring = PointSpring(("ground", "body"), points, stiffness, damping, name="spring")
        run = body.simulate(5.0, q=q, forces=[spring.relaxed_at(body, q)], every=1000)
        for time, (place, force) in expected.items():
            way = (body.placement(run.q[time], "body") @ [*points[1], 1])[:3] - points[0]
            tension = run.force_elements["spring"]["force"][time]
            found = tension * way / np.linalg.norm(way)
            worst = max(worst, apart(run.q[time, :3], place), apart(found, force))
    return worst


def whipple_bicycle() -> float:
    """Eigenvalues at 5 m/s (Meijaard and others 2007)."""
    bicycle = mbd.load(own_urdfs()["whipple_bicycle"])
    at = mbd.linear.steady_motion(bicycle, {"rear_wheel": 5.0 / 0.3})
    chosen = ["frame.rx", "steer", "rear_wheel"]
    found = mbd.linear.linearise(bicycle, at, coordinates=chosen).eigenvalues[6:]
    return float(np.abs(found - whipple.AT_5).max() / np.abs(whipple.AT_5).max())


def rotating_beam() -> float:
    """Three flap frequencies at three speeds of a cantilever on a hub (published table)."""
    return max(
        apart(printed_frequencies(plane), [*PUBLISHED.values()]) for plane in ("flap", "lag")
    )


def simo_vu_quoc() -> float:
    """The largest deflection of the tip of a beam that is spun up (1986; converged: Exudyn)."""
    return apart(spin_up()[1].min(), -0.5738)


class Referee(NamedTuple):
    """A row of the page: who printed what, our function, and how close is equal."""

    who: str
    what: str
    difference: Callable[[], float]
    bound: float


REFEREES = [
    Referee("OpenSim", "loads of two pins, force and moment", opensim, 1e-9),
    Referee(
        "Modelica (Dymola)",
        "spatial four-bar `Fourbar1`, 5 s: crank's angle and rate",
        modelica,
        1e-8,
    ),
    Referee("Modelica (Dymola)", "`JointSSR`: load on the ground beside a loop", joint_ssr, 1e-12),
    Referee("FEDEM", "double wishbone at 0.5 s: strut's force; our arms are rigid", fedem, 2e-3),
    Referee(
        "IVP test set", "car axis, 3 s: places, velocities, loads of slider and rod", car_axis, 1e-8
    ),
    Referee("ADAMS (Chrono's data)", "loads of four joints after 1 s", adams_joints, 3e-5),
    Referee("ADAMS (Chrono's data)", "springs T2, T3, 5 s: places and forces", adams_springs, 1e-6),
    Referee("IFToMM A01", "pendulum, 10 s: places, tension", pendulum, 1e-8),
    Referee(
        "IFToMM A02", "row of four-bars, 10 s through singular positions", rows_of_four_bars, 1e-8
    ),
    Referee("IFToMM A04", "Bricard's linkage, 1 s: four tips", bricard, 1e-6),
    Referee("Drake", "four-bar: the angle at which it balances", drake, 1e-12),
    Referee(
        "Meijaard and others 2007", "Whipple bicycle: eigenvalues at 5 m/s", whipple_bicycle, 1e-12
    ),
    Referee(
        "Berkof and Lowen 1969", "shaking force left by two counterweights", berkof_lowen, 1e-12
    ),
    Referee(
        "Simo and Vu-Quoc 1986", "beam spun up: largest deflection, three modes", simo_vu_quoc, 1e-2
    ),
    Referee("published table", "rotating cantilever: nine frequencies", rotating_beam, 2e-5),
]


def printed(difference: float) -> str:
    """Return a difference as the page has it."""
    return "rounding" if difference < 1e-14 else f"{difference:.1e}".replace("e-0", "e-")


def main() -> None:
    """Print the table of the page."""
    print("| who | what is compared | largest difference, relative | function |\n|---|---|---|---|")
    for who, what, difference, _ in REFEREES:
        print(f"| {who} | {what} | {printed(difference())} | `{difference.__name__}` |")


if __name__ == "__main__":
    main()
