"""An arm of joints of several degrees of freedom: a cart in the plane, a column, a ball joint."""

from __future__ import annotations

from pathlib import Path

ROVER = """<robot name="rover"><link name="floor"/>
<link name="cart"><collision><geometry><box size="0.3 0.3 0.1"/></geometry></collision></link>
<link name="column"><collision><geometry><box size="0.05 0.05 0.1"/></geometry></collision></link>
<link name="flange"/>
<joint name="drive" type="planar"><parent link="floor"/><child link="cart"/><axis xyz="0 0 1"/>
  <limit velocity="0.4" effort="500"/></joint>
<joint name="lift" type="prismatic"><parent link="cart"/><child link="column"/><origin xyz="0.5 0 0.5"/>
  <axis xyz="0 0 1"/><limit lower="-0.3" upper="1" velocity="0.3" effort="500"/></joint>
<joint name="wrist" type="spherical"><parent link="column"/><child link="flange"/>
  <origin xyz="0 0 -0.1" rpy="3.141592653589793 0 0"/><limit velocity="1.5" effort="50"/></joint>
</robot>"""


def rover(folder: Path) -> Path:
    """Its URDF and its description in a folder; the description's path."""
    (folder / "rover.urdf").write_text(ROVER)
    description = folder / "rover.yaml"
    description.write_text(
        "kind: arm\nversion: 1\nname: rover\nurdf: rover.urdf\nflange: flange\nhome: {lift: 0.6, drive.x: 0.1}\n"
    )
    return description
