"""Plans and runs for other tools: ROS bags and MCAP, tables, JSON, a grasp array.   (SPEC 11.6)"""

from pliant.files.export.exporting import FORMATS, RUN_FORMATS, ExportOptions, export_file, export_plan, export_run

__all__ = ["FORMATS", "RUN_FORMATS", "ExportOptions", "export_file", "export_plan", "export_run"]
