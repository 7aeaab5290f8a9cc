"""Where they meet: forces and deformation between pads and an elastic object.

Prepare each pad (``PadSurface``) and each object (``PreparedObject``) once; then only poses change.
"""

from pliant.contact.compiled import compiled_here
from pliant.contact.deform import deformed_vertices, displacement, volume_change
from pliant.contact.detection import Overlap, find_overlaps
from pliant.contact.distance import DistanceField
from pliant.contact.press import PressResult, press
from pliant.contact.region import ContactRegion, ContactState, ContactStatus, SurfaceLoad
from pliant.contact.settle import settle
from pliant.contact.solve import solve_contacts
from pliant.contact.surfaces import MeshSurface, PadSurface, PlaneSurface, PreparedObject, SphereSurface
from pliant.contact.touch import clearance, first_touch

__all__ = [
    "ContactRegion",
    "ContactState",
    "ContactStatus",
    "DistanceField",
    "MeshSurface",
    "Overlap",
    "PadSurface",
    "PlaneSurface",
    "PreparedObject",
    "PressResult",
    "SphereSurface",
    "SurfaceLoad",
    "clearance",
    "compiled_here",
    "deformed_vertices",
    "displacement",
    "find_overlaps",
    "first_touch",
    "press",
    "settle",
    "solve_contacts",
    "volume_change",
]
