"""What is held: meshes, materials, masses and the liquid inside.

Names are loaded when first used; importing the package needs numpy only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pliant.lazy import lazy_names
from pliant.objects.mesh import Mesh

if TYPE_CHECKING:
    from pliant.objects.body import Body as Body
    from pliant.objects.catalogue import SHAPES as SHAPES
    from pliant.objects.catalogue import Shape as Shape
    from pliant.objects.catalogue import make_shape as make_shape
    from pliant.objects.catalogue import parse_shape as parse_shape
    from pliant.objects.clipping import clip_below as clip_below
    from pliant.objects.liquid import Liquid as Liquid
    from pliant.objects.liquid import LiquidState as LiquidState
    from pliant.objects.liquid import fill as fill
    from pliant.objects.mass import MassProperties as MassProperties
    from pliant.objects.mass import combine as combine
    from pliant.objects.mass import mass_properties as mass_properties
    from pliant.objects.mass import mesh_volume as mesh_volume
    from pliant.objects.mass import shell_mass_properties as shell_mass_properties
    from pliant.objects.material import ContactLimits as ContactLimits
    from pliant.objects.material import Material as Material
    from pliant.objects.mending import join_identical as join_identical
    from pliant.objects.reading import load_mesh as load_mesh
    from pliant.objects.reading import read_mesh as read_mesh
    from pliant.objects.shells import winding_number as winding_number
    from pliant.objects.validity import MendedMesh as MendedMesh
    from pliant.objects.validity import MeshReport as MeshReport
    from pliant.objects.validity import check_mesh as check_mesh
    from pliant.objects.validity import check_size as check_size
    from pliant.objects.validity import mend_mesh as mend_mesh
    from pliant.objects.voxel import voxel_mass_properties as voxel_mass_properties
    from pliant.objects.writing import write_mesh as write_mesh

_HOMES = {
    "Body": ".body",
    "ContactLimits": ".material",
    "Liquid": ".liquid",
    "LiquidState": ".liquid",
    "MassProperties": ".mass",
    "Material": ".material",
    "MendedMesh": ".validity",
    "MeshReport": ".validity",
    "SHAPES": ".catalogue",
    "Shape": ".catalogue",
    "check_mesh": ".validity",
    "check_size": ".validity",
    "clip_below": ".clipping",
    "combine": ".mass",
    "fill": ".liquid",
    "join_identical": ".mending",
    "load_mesh": ".reading",
    "make_shape": ".catalogue",
    "mass_properties": ".mass",
    "mend_mesh": ".validity",
    "mesh_volume": ".mass",
    "parse_shape": ".catalogue",
    "read_mesh": ".reading",
    "shell_mass_properties": ".mass",
    "voxel_mass_properties": ".voxel",
    "winding_number": ".shells",
    "write_mesh": ".writing",
}

__all__ = [
    "SHAPES",
    "Body",
    "ContactLimits",
    "Liquid",
    "LiquidState",
    "MassProperties",
    "Material",
    "MendedMesh",
    "Mesh",
    "MeshReport",
    "Shape",
    "check_mesh",
    "check_size",
    "clip_below",
    "combine",
    "fill",
    "join_identical",
    "load_mesh",
    "make_shape",
    "mass_properties",
    "mend_mesh",
    "mesh_volume",
    "parse_shape",
    "read_mesh",
    "shell_mass_properties",
    "voxel_mass_properties",
    "winding_number",
    "write_mesh",
]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
