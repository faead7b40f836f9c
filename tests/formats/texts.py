"""Texts of files: meshes, SDF, MJCF, loops."""

import mbd_bridge as mbd
from mbd_bridge.files import read_urdf_text

DAE = """\
<?xml version="1.0"?><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema"
version="1.4.1"><asset><unit meter="0.01"/><up_axis>Y_UP</up_axis></asset>
<library_effects><effect id="e"><profile_COMMON><technique sid="t"><lambert>
<diffuse><color>0.1 0.2 0.3 1</color></diffuse></lambert></technique></profile_COMMON>
</effect></library_effects>
<library_materials><material id="m"><instance_effect url="#e"/></material></library_materials>
<library_geometries><geometry id="g"><mesh>
<source id="p"><float_array id="pa" count="12">0 0 0 1 0 0 1 1 0 0 1 0</float_array>
<technique_common><accessor source="#pa" count="4" stride="3"/></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
{faces}</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="s"><node><translate>0 0 10</translate>
<rotate>0 0 1 90</rotate><scale>2 3 1</scale><instance_geometry url="#g"><bind_material>
<technique_common><instance_material symbol="sym" target="#m"/></technique_common></bind_material>
</instance_geometry></node></visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#s"/></scene></COLLADA>
"""

FACES = {
    "triangles": '<triangles material="sym" count="2"><input semantic="VERTEX" source="#v" '
    'offset="0"/><p>0 1 2 0 2 3</p></triangles>',
    "normals too": '<triangles material="sym" count="2"><input semantic="VERTEX" source="#v" '
    'offset="1"/><input semantic="NORMAL" source="#p" offset="0"/>'
    "<p>9 0 9 1 9 2 9 0 9 2 9 3</p></triangles>",
    "polylist": '<polylist material="sym" count="1"><input semantic="VERTEX" source="#v" '
    'offset="0"/><vcount>4</vcount><p>0 1 2 3</p></polylist>',
    "polygons": '<polygons material="sym" count="1"><input semantic="VERTEX" source="#v" '
    'offset="0"/><p>0 1 2 3</p></polygons>',
}

INERTIAL = (
    "<inertial><mass>2</mass><inertia><ixx>.1</ixx><iyy>.1</iyy><izz>.1</izz></inertia></inertial>"
)


def link(name, pose="", more=INERTIAL):
    return f'<link name="{name}">{pose}{more}</link>'


def joint(name, kind, parent, child, inside="", more=""):
    return (
        f'<joint name="{name}" type="{kind}"><parent>{parent}</parent><child>{child}</child>'
        f"{inside}{more}</joint>"
    )


HINGE = "<axis><xyz>0 1 0</xyz></axis>"


def sdf(inside, version="1.9", more=""):
    return f'<sdf version="{version}"><model name="m"{more}>{inside}</model></sdf>'


LOOP = (
    link("a") + link("b")
    + link("c", "<pose>1 0 0 0 0 0</pose>") + link("d", "<pose>1 0 1 0 0 0</pose>")
    + joint("ab", "revolute", "a", "b", HINGE)
    + joint("ball", "ball", "b", "d")
    + joint("ac", "revolute", "a", "c", HINGE)
    + joint("dc", "revolute", "d", "c", HINGE)
)  # fmt: skip

MACHINE = sdf(
    LOOP
    + link("e", '<pose relative_to="f" rotation_format="quat_xyzw">0 0 1 0 0 0 1</pose>')
    + '<frame name="f" attached_to="d"><pose degrees="true">0 1 0 0 90 0</pose></frame>'
    + joint("screw", "screw", "d", "e", HINGE + "<screw_thread_pitch>.1</screw_thread_pitch>")
    + '<model name="inner" placement_frame="l"><pose>1 2 3 0 0 0</pose>' + link("l") + "</model>"
    + joint("last", "universal", "e", "inner::l", HINGE + "<axis2><xyz>1 0 0</xyz></axis2>")
)  # fmt: skip
"""What uses most of what is read."""

FOREARM = (
    link("lower", "<pose>0 0.1 0.5 0.3 0 0</pose>")
    + link("tool", '<pose relative_to="grip">0 0 0.2 0 0.4 0</pose>')
    + '<frame name="grip" attached_to="lower"><pose>0 0 0.4 0 0 0.1</pose></frame>'
    + joint("wrist", "revolute", "grip", "tool", HINGE)
)
"""A model of two links, with a frame."""


def include(uri="file://part.sdf", more="", **attributes):
    given = "".join(f' {key}="{value}"' for key, value in attributes.items())
    return f"<include{given}><uri>{uri}</uri>{more}</include>"


CONFIG = """<model><name>forearm</name><sdf version="1.4">old.sdf</sdf>
<sdf version="1.9">new.sdf</sdf><sdf version="7.0">unknown.sdf</sdf></model>"""

BAR = """<robot name="bar">
<link name="base"/><link name="crank"/><link name="coupler"/>
<joint name="a" type="revolute"><parent link="base"/><child link="crank"/>
<limit lower="0" upper="1" effort="1" velocity="1"/></joint>
<joint name="b" type="continuous"><parent link="crank"/><child link="coupler"/></joint>
{}
</robot>"""

CONSTRAINT = """<constraint name="pin" type="revolute">
<parent link="coupler"/><parent_origin xyz="0 0 1" rpy="0.1 0 0"/><parent_axis xyz="0 2 0"/>
<child link="base"/><child_origin xyz="1 0 1"/></constraint>"""


def loops_of(text: str):
    return read_urdf_text(BAR.format(text), source="bar.urdf").loops


ARM = """<mujoco model="arm">
  <compiler angle="degree"/>
  <option gravity="0 0 -5"/>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 1"/>
    <body name="upper" pos="0 0 1">
      <joint name="lift" type="slide" axis="0 0 1" range="-0.5 0.5" limited="true" damping="2"/>
      <joint name="turn" axis="0 2 0" ref="30" springref="10" stiffness="3" armature="0.2"
             range="-90 90" limited="true" frictionloss="0.3"/>
      <geom type="capsule" size="0.05 0.2" rgba="1 0 0 1"/>
      <body name="fore" pos="0.3 0 0">
        <joint name="elbow" axis="0 1 0"/>
        <geom type="box" size="0.1 0.2 0.3"/>
        <body pos="0 0 0.2"><geom size="0.1" contype="0" conaffinity="0"/></body>
      </body>
    </body>
    <body name="ball"><freejoint/><geom size="0.1"/></body>
  </worldbody>
  <tendon><fixed name="cord"><joint joint="elbow" coef="1"/></fixed></tendon>
  <actuator>
    <motor name="lifter" joint="lift" gear="3" ctrlrange="-10 4" ctrllimited="true"/>
    <position name="servo" joint="elbow" kp="10"/>
    <motor name="puller" tendon="cord"/>
  </actuator>
  <equality>
    <joint name="gears" joint1="elbow" joint2="turn" polycoef="0.1 -2 0 0 0"/>
    <joint name="curve" joint1="elbow" joint2="turn" polycoef="0 1 1 0 0"/>
    <joint name="brake" joint1="lift" polycoef="0.25 0 0 0 0"/>
    <connect name="off" body1="fore" body2="upper" anchor="0 0 0" active="false"/>
  </equality>
  <keyframe><key name="home"/></keyframe>
</mujoco>
"""

LOCKED = """<mujoco><compiler angle="radian"/><worldbody><body>
<joint name="shoulder" axis="0 1 0"/><geom size=".1" mass="2" pos="0 0 -.5"/><body pos="0 0 -1">
<joint name="elbow" axis="1 1 0" ref="0.2"/><geom size=".1" mass="1" pos=".1 .2 -.5"/>
<body pos="0 0 -1"><joint name="slide" type="slide" axis="0 0 1"/><geom size=".1" mass="1"/></body>
</body></body></worldbody><equality><joint name="brake" joint1="elbow" polycoef="0.3 0 0 0 0"/>
<joint name="clamp" joint1="slide" polycoef="0.1 0 0 0 0"/></equality></mujoco>"""


LIMITED = """<robot name="arm" version="1.2"><link name="base"/>
<link name="rod"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="hinge" type="revolute"><parent link="base"/><child link="rod"/><axis xyz="0 0 1"/>
<limit lower="-9" upper="9" effort="100" velocity="9" {}/></joint></robot>"""


def limited_arm(tmp_path, **limits):
    text = LIMITED.format(" ".join(f'{name}="{value}"' for name, value in limits.items()))
    (tmp_path / "arm.urdf").write_text(text)
    return mbd.load(tmp_path / "arm.urdf")
