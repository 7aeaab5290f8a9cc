"""Doing it: the driver interface, what the pads feel, the filter, and recordings of real hands.   (SPEC 9)"""

from pliant.control.cell_health import CellHealth, judge_cells, mend_forces
from pliant.control.driver import Driver, JointReading, Sample, TactileFrame
from pliant.control.filter import FilterNoise, RegionFilter
from pliant.control.pad_response import SDH2_RESPONSE, PadResponse
from pliant.control.pad_sensor import PadSensor
from pliant.control.recording import SDH2_RECORDING, RecordedGrasp, Recording, RecordingLayout, read_recording
from pliant.control.replay import ReplayDriver
from pliant.control.squeeze import (
    GraspReport,
    GraspStatus,
    PadTrace,
    RecordingReport,
    analyse_recording,
    ball_between,
)
from pliant.control.tactile import ArrayReading, TactileProcessor, TactileRegion, find_regions, surface_point
from pliant.control.touch import Onset, find_onset, frame_lag

__all__ = [
    "SDH2_RECORDING",
    "SDH2_RESPONSE",
    "ArrayReading",
    "CellHealth",
    "Driver",
    "FilterNoise",
    "GraspReport",
    "GraspStatus",
    "JointReading",
    "Onset",
    "PadResponse",
    "PadSensor",
    "PadTrace",
    "RecordedGrasp",
    "Recording",
    "RecordingLayout",
    "RecordingReport",
    "RegionFilter",
    "ReplayDriver",
    "Sample",
    "TactileFrame",
    "TactileProcessor",
    "TactileRegion",
    "analyse_recording",
    "ball_between",
    "find_onset",
    "find_regions",
    "frame_lag",
    "judge_cells",
    "mend_forces",
    "read_recording",
    "surface_point",
]
