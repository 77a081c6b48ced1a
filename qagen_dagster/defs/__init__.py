"""The asset graph: thin Dagster definitions over `loop`. Domain logic belongs there, never here.

Changes of models are detected by the data versions of ops and of observed assets. Dagster warns at every use
that both are beta; users of the graph need not see that.
"""

import warnings

from dagster import BetaWarning

warnings.filterwarnings("ignore", category=BetaWarning)
