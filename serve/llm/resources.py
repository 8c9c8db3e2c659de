"""Computes the cluster resources of a vLLM deployment from its model file alone.

That needs no vLLM, Ray or GPU. `jeeves validate` prints them, and a test compares them with those of Ray's own builder
for the same deployment.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from runtime.llm.model_file import ModelsFile
from runtime.llm.provider import Providers
from serve.llm.vllm_provider import CPU, VllmDeployment, bundles

# Requests that wait or run in one replica at most.
MOST_WAITING = 10_000


def lacking(models: ModelsFile, resources: Mapping[str, float]) -> list[str]:
    """Return what a cluster with these `ray.cluster_resources()` lacks for the minimum number of replicas.

    A sentence for each deployment that a role uses, or one for all if only their sum does not fit.
    """
    problems = []
    in_all: defaultdict[str, float] = defaultdict(float)
    for name, deployment in models.used_of(VllmDeployment).items():
        asked: defaultdict[str, float] = defaultdict(float)
        for bundle in bundles(deployment):
            for key, amount in bundle.items():
                asked[key] += amount * max(1, deployment.replicas.min)
        for key, amount in asked.items():
            in_all[key] += amount
        if short := _short(asked, resources):
            problems.append(f"deployment '{name}' asks for more than the cluster has: {short}")
    if not problems and (short := _short(in_all, resources)):
        problems.append(f"the deployments together ask for more than the cluster has: {short}")
    return problems


def _short(asked: Mapping[str, float], resources: Mapping[str, float]) -> str:
    return ", ".join(
        f"{key} {amount:g} (has {resources.get(key, 0):g})"
        for key, amount in asked.items()
        if resources.get(key, 0) < amount
    )


def described(models: ModelsFile, providers: Providers) -> list[str]:
    """Return a line for each deployment: what it is and what it asks for."""
    return [providers[each.backend].told(name, each) for name, each in models.deployments.items()]


def llm_config_of(name: str, deployment: VllmDeployment) -> dict[str, Any]:
    """Return the fields of `ray.serve.llm.LLMConfig` for a deployment."""
    config: dict[str, Any] = {
        "model_loading_config": {"model_id": name, "model_source": deployment.model},
        "engine_kwargs": {
            "max_model_len": deployment.max_model_len,
            "tensor_parallel_size": deployment.tensor_parallel,
            "enable_prefix_caching": True,
            # Models with sliding windows: vLLM keeps their windows at the end of a prompt alone unless told otherwise,
            # and the first prompt that shares a beginning with it finds nothing. Others do not read it.
            "prefix_cache_retention_interval": None,
            "max_num_seqs": deployment.concurrent,
            **deployment.engine,
        },
        "deployment_config": {
            "autoscaling_config": {
                "min_replicas": deployment.replicas.min,
                "max_replicas": deployment.replicas.max,
                "target_ongoing_requests": deployment.replicas.ongoing_requests,
            },
            # The turns of users are kept in the replica: what Ray Serve kept waiting would be first come, first served.
            "max_ongoing_requests": max(MOST_WAITING, deployment.concurrent),
            "ray_actor_options": {"num_cpus": 0},
        },
        "placement_group_config": {"bundles": bundles(deployment)},
        "runtime_env": {"env_vars": {"VLLM_NO_USAGE_STATS": "1"}},
    }
    if Path(deployment.model).is_dir():
        config["runtime_env"]["env_vars"]["HF_HUB_OFFLINE"] = "1"
    if deployment.accelerator == CPU:
        config["accelerator_config"] = {"kind": CPU}
    else:
        config["accelerator_type"] = deployment.accelerator
    return config
