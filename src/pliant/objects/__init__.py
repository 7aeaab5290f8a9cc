"""What is held: meshes, materials, masses and the liquid inside."""

from pliant.objects.mesh import Mesh

__all__ = ["Mesh"]
