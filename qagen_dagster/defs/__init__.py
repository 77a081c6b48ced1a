"""The asset graph: thin Dagster definitions over `loop`. Domain logic belongs in `loop`, never here.

The graph uses features that Dagster calls beta or preview: data versions of ops and of observed assets, and asset checks with
partitions. Dagster warns at every use of them. The warnings are silenced, because users of the graph cannot act on them.
"""

import warnings

from dagster import BetaWarning, PreviewWarning

warnings.filterwarnings("ignore", category=BetaWarning)
warnings.filterwarnings("ignore", category=PreviewWarning)
