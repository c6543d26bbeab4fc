"""What an address and a parameter may say: whose server it is, and that no key stands in it."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

# the registrable domains under which vendors sell answers: nobody's own machine
_VENDORS = (
    "openai.com",
    "azure.com",
    "anthropic.com",
    "googleapis.com",
    "google.com",
    "amazonaws.com",
    "aliyuncs.com",
    "alibabacloud.com",
    "deepseek.com",
    "moonshot.ai",
    "moonshot.cn",
    "minimax.io",
    "minimaxi.com",
    "minimax.chat",
    "z.ai",
    "bigmodel.cn",
    "volces.com",
    "mistral.ai",
    "cohere.com",
    "cohere.ai",
    "x.ai",
    "groq.com",
    "together.ai",
    "together.xyz",
    "fireworks.ai",
    "openrouter.ai",
    "perplexity.ai",
    "replicate.com",
    "deepinfra.com",
    "cerebras.ai",
    "sambanova.ai",
    "siliconflow.cn",
    "siliconflow.com",
    "nvidia.com",
    "huggingface.co",
    "huggingface.cloud",
    "ollama.com",
    "github.ai",
)
_SECRET_NAME = re.compile(
    r"(?i)(api|access|subscription|private)[-_]?key|authorization|secret|password|credential|^cookie$"
    r"|(ad|auth|access|session|bearer|id)[-_]token$"
)


def is_vendors(address: str) -> bool:
    """Whether a server at this address is a vendor's, as far as the well-known ones go."""
    host = host_of(address)
    return any(host == domain or host.endswith(f".{domain}") for domain in _VENDORS)


def is_loopback(address: str | None) -> bool:
    """Whether the address is this machine."""
    host = host_of(address or "")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def is_within_reach(address: str) -> bool:
    """Whether the host can only be of one's own network: this machine, a private or link-local address, a name without
    a domain, or one under .local or .internal."""
    host = host_of(address)
    try:
        ip = ipaddress.ip_address(host)
    except ValueError:
        return bool(host) and ("." not in host or host.endswith((".localhost", ".local", ".internal")))
    return not ip.is_unspecified and (ip.is_loopback or ip.is_private or ip.is_link_local)


def is_without_secrets(address: str) -> bool:
    parts = urlsplit(address)
    return "@" not in parts.netloc and not parts.query and not parts.fragment


def names_a_secret(parameters: Mapping[str, Any]) -> bool:
    """Whether a parameter, at any depth, is named like a key."""
    return any(
        _SECRET_NAME.search(str(name)) or (isinstance(value, Mapping) and names_a_secret(value))
        for name, value in parameters.items()
    )


def host_of(address: str) -> str:
    """The host alone, in small letters."""
    return (urlsplit(address).hostname or "").rstrip(".")
