"""What the demo takes of `localcluster`.

Imported only by commands that need it, so that production never loads an API server.
"""

from localcluster.cluster import LocalCluster, LocalClusterError
from localcluster.fleet import LocalFleet, Member
from localcluster.kinds.api_errors import ApiError
from localcluster.kueue.annotations import NEVER, RUN_SECONDS, STOP_SECONDS
from localcluster.kueue.profile import CURRENT, GATES_OFF, KEP_8303, KueueProfile
from localcluster.sample_queues import QUEUE
from localcluster.store.ledger import Change, ChangeType

__all__ = [
    "CURRENT",
    "GATES_OFF",
    "KEP_8303",
    "NEVER",
    "QUEUE",
    "RUN_SECONDS",
    "STOP_SECONDS",
    "ApiError",
    "Change",
    "ChangeType",
    "KueueProfile",
    "LocalCluster",
    "LocalClusterError",
    "LocalFleet",
    "Member",
]
