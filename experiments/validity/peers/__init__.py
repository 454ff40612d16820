"""Other people's methods, re-implemented from their papers or run from their packages.

``riskjudge`` imports none of them. Each file says where its rule comes from and against what it was
checked; a method whose formulas could not be checked says so.
"""

import sys
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from base import Peer
from coin import COIN
from lattice_graph import LatticeGraph
from lec import LEC, SCOPE
from mapie_controllers import MapieBonferroni, MapieFixedSequence, MapieGrid, MapieOneMode
from pareto import ParetoTesting
from sgr import SGR
from trust_or_escalate import TrustOrEscalate

PEERS: list[Peer] = [
    SGR(),
    COIN(),
    SCOPE(),
    TrustOrEscalate(),
    LEC(),
    ParetoTesting(),
    LatticeGraph(),
]
if find_spec("mapie") is not None:
    PEERS += [
        MapieBonferroni(),
        MapieOneMode(),
        MapieFixedSequence(),
        MapieGrid(),
    ]
"""All of them; MAPIE's only where it is installed."""
