"""A hand nobody has described yet: its URDF is looked at, and a description proposed."""

from pliant.robot.proposal.propose import Guess, Proposal, propose_hand
from pliant.robot.proposal.writing import proposal_text, write_proposal

__all__ = ["Guess", "Proposal", "proposal_text", "propose_hand", "write_proposal"]
