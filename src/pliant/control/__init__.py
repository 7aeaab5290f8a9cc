"""Doing it: the driver interface, what the pads feel, the filter, and recordings of real hands.   (SPEC 9)"""

from pliant.control.attended import DriverRun, RunOutcome, check_driver, run_on_driver
from pliant.control.calibrating import CalibrationRun, calibrate_on_driver, fit_run
from pliant.control.calibration import (
    Calibration,
    SlipOnset,
    SqueezePoint,
    SqueezeSamples,
    fit_squeeze,
    friction_at_slip,
)
from pliant.control.cell_health import CellHealth, judge_cells, mend_forces
from pliant.control.contact_tracking import ContactEstimate, ContactTracker
from pliant.control.controller import Command, GraspController
from pliant.control.driver import MOST_AHEAD, Driver, JointReading, Sample, TactileFrame
from pliant.control.execute import execute
from pliant.control.filter import FilterNoise, RegionFilter
from pliant.control.force_loop import ContactKinematics, ForceLoop, contact_kinematics
from pliant.control.options import CalibrationFactors, ControlOptions, WatchLimits
from pliant.control.pad_response import SDH2_RESPONSE, PadResponse
from pliant.control.pad_sensor import PadSensor
from pliant.control.phases import REACTIONS, Event, Fault, Reaction, RunPhase
from pliant.control.recording import SDH2_RECORDING, RecordedGrasp, Recording, RecordingLayout, read_recording
from pliant.control.replay import ReplayDriver
from pliant.control.run_log import PadFrames, RunLog, RunRecorder, row_shapes
from pliant.control.squeeze import (
    GraspReport,
    GraspStatus,
    PadTrace,
    RecordingReport,
    analyse_recording,
    ball_between,
)
from pliant.control.tactile import ArrayReading, TactileProcessor, TactileRegion, find_regions, surface_point
from pliant.control.timeline import PlannedMoment, Timeline
from pliant.control.torque_law import TorqueAnswer, TorqueLaw
from pliant.control.touch import Onset, find_onset, frame_lag
from pliant.control.trial_squeeze import TrialSqueeze

__all__ = [
    "MOST_AHEAD",
    "REACTIONS",
    "SDH2_RECORDING",
    "SDH2_RESPONSE",
    "ArrayReading",
    "Calibration",
    "CalibrationFactors",
    "CalibrationRun",
    "CellHealth",
    "Command",
    "ContactEstimate",
    "ContactKinematics",
    "ContactTracker",
    "ControlOptions",
    "Driver",
    "DriverRun",
    "Event",
    "Fault",
    "FilterNoise",
    "ForceLoop",
    "GraspController",
    "GraspReport",
    "GraspStatus",
    "JointReading",
    "Onset",
    "PadFrames",
    "PadResponse",
    "PadSensor",
    "PadTrace",
    "PlannedMoment",
    "Reaction",
    "RecordedGrasp",
    "Recording",
    "RecordingLayout",
    "RecordingReport",
    "RegionFilter",
    "ReplayDriver",
    "RunLog",
    "RunOutcome",
    "RunPhase",
    "RunRecorder",
    "Sample",
    "SlipOnset",
    "SqueezePoint",
    "SqueezeSamples",
    "TactileFrame",
    "TactileProcessor",
    "TactileRegion",
    "Timeline",
    "TorqueAnswer",
    "TorqueLaw",
    "TrialSqueeze",
    "WatchLimits",
    "analyse_recording",
    "ball_between",
    "calibrate_on_driver",
    "check_driver",
    "contact_kinematics",
    "execute",
    "find_onset",
    "find_regions",
    "fit_run",
    "fit_squeeze",
    "frame_lag",
    "friction_at_slip",
    "judge_cells",
    "mend_forces",
    "read_recording",
    "row_shapes",
    "run_on_driver",
    "surface_point",
]
