"""Ends the models that `jeeves serve` has deployed on a joined cluster, which outlives the service.

Models of one name are shared by all systems on a cluster, so the last system that leaves it ends them.
"""

from __future__ import annotations

import logging

from actors.model_handle import application_name
from actors.system_actors import systems_on_cluster
from runtime.llm.provider import all_providers
from runtime.settings import Settings
from serve.contributions import providers
from serve.wiring import models_file

log = logging.getLogger(__name__)


def model_applications(settings: Settings) -> tuple[str, ...]:
    """Return the names of the Ray Serve applications of the model file's deployments that roles use.

    Raises UnknownNameError and DocumentFaults.
    """
    models = models_file(settings)
    if models is None:
        return ()
    deploying = {name for name, provider in all_providers(providers()).items() if provider.deploy is not None}
    used = (name for name in models.used_deployments() if models.deployments[name].backend in deploying)
    return tuple(application_name(name) for name in used)


def end_models(applications: tuple[str, ...], system: str) -> list[str]:
    """Delete applications from the connected cluster, and return those that were there.

    None is deleted while a system other than `system` is on the cluster. What cannot be deleted is logged.
    """
    if not applications:
        return []
    others = [name for name in systems_on_cluster() if name != system]
    if others:
        log.info("models.left", extra={"applications": list(applications), "systems": others})
        return []
    # Imported here: it takes a second, which questions to a cluster without models need not spend.
    from ray import serve as ray_serve
    from ray.exceptions import RayError
    from ray.serve.exceptions import RayServeException

    # It has a handler of its own, on standard error.
    logging.getLogger("ray.serve").setLevel(logging.WARNING)
    ended = []
    try:
        there = ray_serve.status().applications
        for name in applications:
            if name in there:
                ray_serve.delete(name)
                ended.append(name)
    except (RayError, RayServeException, TimeoutError) as error:
        log.warning("models.not_ended", extra={"applications": list(applications), "reason": str(error)[:200]})
    return ended
