"""A hand nobody has described yet: its URDF is looked at, and a description proposed."""

from pliant.robot.proposal.propose import Guess, Proposal, propose_hand
from pliant.robot.proposal.writing import description_text, proposal_text, save_corrected, write_proposal

__all__ = [
    "Guess",
    "Proposal",
    "description_text",
    "proposal_text",
    "propose_hand",
    "save_corrected",
    "write_proposal",
]
