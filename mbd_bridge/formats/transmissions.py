"""What a URDF says of the gears between motors and joints: ROS 1, PR2, ros2_control, Drake.

::

    <transmission name="t1">                              ROS 1; at the joint or the actuator
      <type>transmission_interface/SimpleTransmission</type>
      <joint name="elbow"/>
      <actuator name="elbow_motor">
        <mechanicalReduction>100</mechanicalReduction>
        <drake:rotor_inertia value="1e-5"/>               Drake; drake:gear_ratio value="100", too
      </actuator>
    </transmission>

    <ros2_control name="arm" type="system">               ROS 2
      <transmission name="t1">
        <plugin>transmission_interface/SimpleTransmission</plugin>
        <actuator name="elbow_motor" role="actuator1"/>
        <joint name="elbow" role="joint1">
          <mechanical_reduction>100</mechanical_reduction>
        </joint>
      </transmission>
    </ros2_control>

PR2's reduction stands in the transmission itself. A transmission that couples several joints or
motors (differentials) is kept with the reason why nothing is read of it. Nothing here is refused:
files carry such elements for other programs, and who asks for actuators is told of what is odd.
"""

from __future__ import annotations

from collections.abc import Iterator

from mbd_bridge.formats.description import Transmission
from mbd_bridge.formats.document import parse_number, quote
from mbd_bridge.formats.xml_reader import Element, line_of

REDUCTIONS = ("mechanicalReduction", "mechanical_reduction")
GEAR_RATIO = "gear_ratio"
ROTOR_INERTIA = "rotor_inertia"


def read_transmissions(robot: Element) -> tuple[Transmission, ...]:
    """Return what the ``<transmission>`` elements of a robot say, of each joint in each of them."""
    found: list[Transmission] = []
    for path in ("transmission", "ros2_control/transmission"):
        for element in robot.iterfind(path):
            found += _read(element)
    return tuple(found)


def commanded_joints(robot: Element) -> list[str]:
    """Return the joints that ``<ros2_control>`` commands."""
    names = [
        joint.get("name")
        for joint in robot.iterfind("ros2_control/joint")
        if joint.find("command_interface") is not None
    ]
    return [name for name in names if name]


def _read(element: Element) -> list[Transmission]:
    joints = [one for one in element.findall("joint") if one.get("name")]
    actuators = element.findall("actuator")
    name = element.get("name") or "transmission"
    problem = ""
    if len(joints) > 1 or len(actuators) > 1:
        problem = (
            f"it couples {len(joints)} joints and {len(actuators)} actuators, and only simple "
            f"transmissions are read"
        )
    found = []
    for joint in joints:
        numbers: dict[str, float | None] = {"reduction": None, ROTOR_INERTIA: None}
        said = problem
        if not problem:
            said = _numbers(numbers, [element, joint, *actuators])
        found.append(
            Transmission(
                name,
                joint.get("name") or "",
                numbers["reduction"],
                numbers[ROTOR_INERTIA],
                said,
                line_of(element),
            )
        )
    return found


def _numbers(numbers: dict[str, float | None], elements: list[Element]) -> str:
    """Take the numbers that stand in some elements; return what is wrong with one, or nothing."""
    reductions: list[float] = []
    for element in elements:
        for kind, text in _values(element):
            try:
                number = parse_number(text)
                if kind == ROTOR_INERTIA and number < 0.0:
                    raise ValueError(f"expected an inertia from 0 kg m², got {quote(text)}")
                if kind == "reduction" and number == 0.0:
                    raise ValueError("expected a reduction other than 0")
            except ValueError as error:
                return str(error)
            if kind == "reduction":
                reductions.append(number)
            else:
                numbers[kind] = number
    if reductions:  # the joint's and the actuator's are in series
        product = 1.0
        for reduction in reductions:
            product *= reduction
        numbers["reduction"] = product
    return ""


def _values(element: Element) -> Iterator[tuple[str, str]]:
    """Yield the kind and the text of the numbers that stand in an element."""
    for child in element:
        if not isinstance(child.tag, str):
            continue  # a comment
        tag = child.tag.rpartition("}")[2].rpartition(":")[2]
        text = child.get("value") or child.text or ""
        if tag in REDUCTIONS or tag == GEAR_RATIO:
            yield "reduction", text.strip()
        elif tag == ROTOR_INERTIA:
            yield ROTOR_INERTIA, text.strip()
