"""Makes the driver of a Ray job use the cluster of its job.

Ray runs a job once; whoever wants it to go on submits it again. So the commands that are run as jobs keep what was
done, and two jobs with the same arguments do not do the same work twice.
"""

from __future__ import annotations

from collections.abc import MutableMapping

from runtime.errors import ClusterError

MODE_VARIABLE, ADDRESS_VARIABLE = "JEEVES_RAY__MODE", "JEEVES_RAY__ADDRESS"
# Set by Ray for the driver of each job.
JOB_ADDRESS_VARIABLE = "RAY_ADDRESS"


def join_cluster_of_job(environment: MutableMapping[str, str]) -> None:
    """Set the variables of a process so that its commands use the cluster of its job; a mode that was chosen stays.

    Raises ClusterError if the process is not the driver of a job, and no mode was chosen.
    """
    if environment.get(MODE_VARIABLE):
        return
    address = environment.get(JOB_ADDRESS_VARIABLE)
    if not address:
        raise ClusterError(
            f"this process is not the driver of a Ray job ({JOB_ADDRESS_VARIABLE} is not set): submit it with"
            f" `jeeves submit` or `ray job submit`, or set {MODE_VARIABLE}"
        )
    environment[MODE_VARIABLE], environment[ADDRESS_VARIABLE] = "attach", address
