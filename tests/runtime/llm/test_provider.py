"""Each provider of models is declared once: model files, clients and checks follow from that."""

from __future__ import annotations

import pytest

from runtime.errors import SettingsError
from runtime.llm.client_opening import check_deployment
from runtime.llm.provider import Needs, Provider, all_providers
from runtime.llm.providers.openai import PROVIDER as OPENAI
from runtime.llm.providers.openai import OpenAIDeployment
from serve.contributions import providers
from serve.llm.vllm_provider import PROVIDER as VLLM
from tests.runtime.llm.endpoint import deployment_at


def test_the_kernels_providers_are_found_by_their_modules_and_others_by_their_names() -> None:
    assert all_providers() == {"openai": OPENAI}
    assert all_providers(providers()) == {"openai": OPENAI, "vllm": VLLM}


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("runtime.nowhere:PROVIDER", "provider 'runtime.nowhere:PROVIDER' cannot be loaded"),
        ("runtime.llm.providers.openai:NOBODY", "has no attribute 'NOBODY'"),
        ("runtime.llm.providers.openai:OpenAIDeployment", "not a Provider"),
        ("runtime.llm.providers.openai:PROVIDER", "two providers are named 'openai'"),
    ],
)
def test_a_name_that_leads_to_no_provider_of_its_own_is_told(spec: str, told: str) -> None:
    with pytest.raises(SettingsError, match=told):
        all_providers((spec,))


@pytest.mark.parametrize("provider", [OPENAI, VLLM], ids=lambda provider: provider.name)
def test_a_provider_is_named_as_its_deployments_name_it(provider: Provider[OpenAIDeployment]) -> None:
    named = provider.settings.model_fields["backend"].annotation
    assert getattr(named, "__args__", None) == (provider.name,)


def test_a_package_that_a_provider_stands_on_is_asked_for_by_its_extra() -> None:
    OPENAI.check_needs()
    lacking = Provider(
        name="x",
        title="an engine",
        settings=OpenAIDeployment,
        open=OPENAI.open,
        told=OPENAI.told,
        needs=Needs("no_such_engine", "engine"),
    )
    with pytest.raises(SettingsError, match=r"an engine needs the extra 'engine': pip install 'jeeves\[engine\]'"):
        check_deployment(deployment_at("http://x"), {"openai": lacking}, {})


def test_a_key_that_is_missing_is_told_before_anything_is_opened() -> None:
    deployment = deployment_at("http://x", api_key_env="THE_KEY")
    check_deployment(deployment, all_providers(), {"THE_KEY": "abc"})
    with pytest.raises(SettingsError, match="the variable THE_KEY holds no usable key"):
        check_deployment(deployment, all_providers(), {})
