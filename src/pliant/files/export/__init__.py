"""Plans for other tools: ROS bags and MCAP, tables, JSON, a grasp array.   (SPEC 11.6)"""

from pliant.files.export.exporting import FORMATS, ExportOptions, export_file, export_plan

__all__ = ["FORMATS", "ExportOptions", "export_file", "export_plan"]
