__version__: str

from pliant.errors import InputError as InputError
from pliant.errors import PliantError as PliantError
from pliant.files import load_plan as load_plan
from pliant.files import read_task as read_task
from pliant.files import save_plan as save_plan
from pliant.grasp import Contact as Contact
from pliant.grasp import ContactSet as ContactSet
from pliant.grasp import solve_forces as solve_forces
from pliant.motion import solve_pose as solve_pose
from pliant.objects import Body as Body
from pliant.objects import ContactLimits as ContactLimits
from pliant.objects import Liquid as Liquid
from pliant.objects import Material as Material
from pliant.objects import Mesh as Mesh
from pliant.objects import load_mesh as load_mesh
from pliant.objects import make_shape as make_shape
from pliant.planner import plan as plan
from pliant.robot import Robot as Robot
from pliant.robot import load_arm as load_arm
from pliant.robot import load_assembly as load_assembly
from pliant.robot import load_hand as load_hand
from pliant.robot import load_robot as load_robot
