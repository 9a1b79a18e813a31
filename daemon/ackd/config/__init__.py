"""Configuration: `team.yaml` of the tree and the node's own file, as frozen values."""

from ackd.config.node import Node, load_node
from ackd.config.team import Team, load_team, parse_team

__all__ = ["Node", "Team", "load_node", "load_team", "parse_team"]
