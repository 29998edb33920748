"""What a board with 8 GB has room for, as sums on paper."""

from __future__ import annotations

from dataclasses import dataclass

USABLE = 7_619  # MiB that an Orin Nano with 8 GB shows (github.com/spiritbuun/buun-llama-cpp/issues/40)
SYSTEM = 700  # MiB, assumed: Ubuntu without a desktop
CUDA = 400  # MiB, assumed: one CUDA context with its libraries
SUPERNODE = 300  # MiB: PSS of SuperNode, SuperExec and one ClientApp, in `deployed_federation`
COMPUTE = 300  # MiB: buffers for 512 tokens at a time, as logged in github.com/withcatai/node-llama-cpp/issues/560
_MIB = 2**20


@dataclass(frozen=True, slots=True)
class Model:
    """A generator as far as memory goes.

    Parameters
    ----------
    name
        With its quantisation.
    weights
        Bytes of the file.
    layers, heads, width
        Layers, key-value heads, and values of one head.
    """

    name: str
    weights: int
    layers: int
    heads: int
    width: int

    @property
    def token_bytes(self) -> int:
        """Bytes of the key-value cache for one token: keys and values in 16 bits."""
        return 2 * self.layers * self.heads * self.width * 2


MODELS = (  # sizes of files to 10 MB, as they are offered
    Model("Qwen2.5-Coder-1.5B Q4_K_M", 1_117_320_768, 28, 2, 128),
    Model("Llama-3.2-3B Q4_K_M", 2_020_000_000, 28, 8, 128),
    Model("Llama-3.1-8B Q3_K_S", 3_660_000_000, 32, 8, 128),
    Model("Llama-3.1-8B Q4_K_M", 4_920_000_000, 32, 8, 128),
)


def plan(service: float) -> str:
    """The sums as Markdown, in MiB.

    Parameters
    ----------
    service
        MiB that a device's service holds beside its weights, measured.
    """
    head = (
        "model",
        "context",
        "weights",
        "KV cache",
        "buffers",
        "CUDA",
        "service",
        "SuperNode",
        "system",
        "sum",
        f"left of {USABLE:,}",
    )
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for model in MODELS:
        for context in (2_048, 4_096):
            cache = context * model.token_bytes / _MIB
            parts = (model.weights / _MIB, cache, COMPUTE, CUDA, service, SUPERNODE, SYSTEM)
            told = (f"{part:,.0f}" for part in (*parts, sum(parts), USABLE - sum(parts)))
            lines.append(f"| {model.name} | {context:,} | {' | '.join(told)} |")
    return "\n".join(lines) + "\n"
