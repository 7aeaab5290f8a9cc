"""Documents in and out."""

from pliant.files.grasp_file import Grasp, GraspFile, read_grasp

__all__ = ["Grasp", "GraspFile", "read_grasp"]
