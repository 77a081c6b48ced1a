"""The asset graph: thin Dagster definitions over `loop`. Domain logic belongs there, never here.

Changes of models are detected by the data versions of ops and of observed assets, and asset checks have partitions.
Dagster warns at every use that these are beta or preview; users of the graph need not see that.
"""

import warnings

from dagster import BetaWarning, PreviewWarning

warnings.filterwarnings("ignore", category=BetaWarning)
warnings.filterwarnings("ignore", category=PreviewWarning)
