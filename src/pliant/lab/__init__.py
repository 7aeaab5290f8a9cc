"""The stand-in for reality: MuJoCo plays hand, arm and soft things behind the driver interface.   (SPEC 10)"""

import pliant.lab.rendering  # noqa: F401  (must come before the simulator)
from pliant.lab.calibrating import CALIBRATION_SETTINGS, calibrate_in_lab, calibration_settings
from pliant.lab.comparison import ContactComparison, compare_contacts
from pliant.lab.driver import LabDriver, SensorSettings
from pliant.lab.faults import FaultyDriver, Injection, kick
from pliant.lab.object_xml import ObjectPart, solid_part
from pliant.lab.options import LabOptions
from pliant.lab.pads import LinkContact, PadForces, Pads
from pliant.lab.pictures import picture
from pliant.lab.scene import Scene, build_scene, compile_scene, scene_for_task, scene_root
from pliant.lab.series import (
    DisturbanceRange,
    SeriesEntry,
    SeriesResult,
    draw_disturbances,
    run_series,
    table_of,
    wilson,
)
from pliant.lab.simulation import ObjectState, Simulation
from pliant.lab.soft_body import TetMesh, tetrahedra
from pliant.lab.trial import (
    Disturbance,
    TrialOutcome,
    TrialResult,
    TrialSettings,
    disturbed_body,
    pressed_places,
    run_trial,
    trial_scene,
)
from pliant.lab.vessel import Slosh, slosh, vessel_part

__all__ = [
    "CALIBRATION_SETTINGS",
    "ContactComparison",
    "Disturbance",
    "DisturbanceRange",
    "FaultyDriver",
    "Injection",
    "LabDriver",
    "LabOptions",
    "LinkContact",
    "ObjectPart",
    "ObjectState",
    "PadForces",
    "Pads",
    "Scene",
    "SensorSettings",
    "SeriesEntry",
    "SeriesResult",
    "Simulation",
    "Slosh",
    "TetMesh",
    "TrialOutcome",
    "TrialResult",
    "TrialSettings",
    "build_scene",
    "calibrate_in_lab",
    "calibration_settings",
    "compare_contacts",
    "compile_scene",
    "disturbed_body",
    "draw_disturbances",
    "kick",
    "picture",
    "pressed_places",
    "run_series",
    "run_trial",
    "scene_for_task",
    "scene_root",
    "slosh",
    "solid_part",
    "table_of",
    "tetrahedra",
    "trial_scene",
    "vessel_part",
    "wilson",
]
