"""The asset graph: thin definitions over the loop. Domain logic lives below, never here.

Data versions of ops and observed assets are what the detection of model changes rests on. Dagster calls
both beta and says so at every use; who runs the graph need not hear it.
"""

import warnings

from dagster import BetaWarning

warnings.filterwarnings("ignore", category=BetaWarning)
