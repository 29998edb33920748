"""Fit a generator to answering over passages: a low-rank adapter of its weights, from training questions of all sets.

    pip install '.[fit]'
    python -m simulations.answers.fit_adapter [--data FOLDER] [--generator NAME] [--steps 200] [--threads 2]
                                              [--out fedrag_flwr/models/weights/answers-NAME.json]

Rows of the training split only, of all seven sets, over windows as a device reads them (`answers/examples.py`). Some
questions are held back, and the loss over their answers is printed. The generator's own weights, dequantised, stay as
they are; what is fitted are two thin matrices beside each projection of attention in its upper layers (LoRA, Hu et al.
2021). The state of a fit that was cut off is kept under ``$FEDRAG_HOME/benchmarks``: the next call goes on there.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import math
import random
import re
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fedrag_flwr.answering.prompts import ANSWERING, reading_prompt
from fedrag_flwr.errors import SourceError
from fedrag_flwr.files import replace_file
from fedrag_flwr.models import resolve
from fedrag_flwr.models.adapters import FOLDER, Adapter, write_adapter
from fedrag_flwr.models.base import Prompt
from fedrag_flwr.models.cache import GenerationCache
from fedrag_flwr.models.chat import ChatTemplate
from fedrag_flwr.models.files import file_sha256
from fedrag_flwr.models.generator import LlamaGenerator
from fedrag_flwr.models.registry import DEFAULT_GENERATOR, REGISTRY, name_of
from fedrag_flwr.settings import Settings, fedrag_home
from fedrag_flwr.sources.benchmark import data_root
from simulations.answers.examples import SEED, SHARE, Example, all_examples, in_sentences

if TYPE_CHECKING:
    import torch

HELD = 80  # examples of other questions, over which the loss is told
RANK, ALPHA, DROPOUT = 8, 16, 0.05
BATCH, RATE, WARMING = 8, 2.5e-4, 20
LOWEST = 1 / 3  # layers below this share of them stay as they are
PROJECTIONS = {"q_proj": "attn_q", "k_proj": "attn_k", "v_proj": "attn_v", "o_proj": "attn_output"}


@dataclass(frozen=True, slots=True)
class Turn:
    """An example as tokens: what the model is shown, and what it should say."""

    shown: list[int]
    said: list[int]


def turns(made: Sequence[Example], template: ChatTemplate, tokenizer: Any) -> list[Turn]:
    """Examples as the generator is asked them, with the answer and the end of the turn."""

    def tokens(text: str) -> list[int]:
        return list(tokenizer(text, add_special_tokens=False)["input_ids"])

    found = []
    for one in made:
        prompt = reading_prompt(one.question, one.units)
        head, tail = template.pieces(Prompt(prompt.system, prompt.user))
        shown = [token for piece in (*head, *tail) for token in tokens(piece.text)]
        found.append(Turn(shown, tokens(one.answer + tokenizer.eos_token)))
    return found


def batches(made: Sequence[Turn], steps: int) -> Iterator[list[Turn]]:
    """So many batches of turns of about one length."""
    draw = random.Random(SEED)
    ready: list[list[Turn]] = []
    for _ in range(steps):
        if not ready:
            order = draw.sample(made, len(made))
            for first in range(0, len(order), 16 * BATCH):
                near = sorted(order[first : first + 16 * BATCH], key=lambda turn: len(turn.shown))
                ready += [near[at : at + BATCH] for at in range(0, len(near), BATCH)]
            draw.shuffle(ready)
        yield ready.pop()


def loss_of(model: Any, batch: Sequence[Turn]) -> torch.Tensor:
    """Mean cross-entropy of the tokens that should be said."""
    import torch

    longest = max(len(turn.shown) + len(turn.said) for turn in batch)
    tokens = torch.zeros((len(batch), longest), dtype=torch.long)
    wanted = torch.full((len(batch), longest), -100)
    real = torch.zeros((len(batch), longest), dtype=torch.long)
    for row, turn in enumerate(batch):
        length = len(turn.shown) + len(turn.said)
        tokens[row, :length] = torch.tensor(turn.shown + turn.said)
        wanted[row, len(turn.shown) : length] = torch.tensor(turn.said)
        real[row, :length] = 1
    with torch.autocast("cpu", dtype=torch.bfloat16):
        states = model.model(input_ids=tokens, attention_mask=real).last_hidden_state[:, :-1]
        asked = wanted[:, 1:] != -100
        logits = model.lm_head(states[asked]).float()
    return torch.nn.functional.cross_entropy(logits, wanted[:, 1:][asked])


def fit(model: Any, fitted: Sequence[Turn], held: Sequence[Turn], steps: int, kept: Path) -> dict[str, float]:
    """Fit a model's adapter, going on from what is kept; the loss over the questions held back, before and after."""
    import torch

    parameters = [one for one in model.parameters() if one.requires_grad]
    optimiser = torch.optim.AdamW(parameters, lr=RATE, weight_decay=0.0)

    def pace(step: int) -> float:
        return min((step + 1) / WARMING, 0.5 * (1 + math.cos(math.pi * min(step / steps, 1))) + 0.02)

    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, pace)
    base, start = model.get_base_model(), time.monotonic()
    if kept.exists():
        state = torch.load(kept, weights_only=True)
        for one, values in zip(parameters, state["parameters"], strict=True):
            one.data.copy_(values)
        optimiser.load_state_dict(state["optimiser"])
        schedule.load_state_dict(state["schedule"])
        torch.set_rng_state(state["drawing"])
        done, before = state["done"], state["before"]
        print(f"going on after {done} of {steps}", flush=True)
    else:
        done, before = 0, rejected(model, held)
    recent: list[float] = []
    for number, batch in enumerate(batches(fitted, steps), 1):
        if number <= done:
            continue
        loss = loss_of(base, batch)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimiser.step()
        schedule.step()
        optimiser.zero_grad()
        recent = [*recent[-19:], float(loss.detach())]
        if number % 20 == 0:
            spent = time.monotonic() - start
            print(f"{number} of {steps}: loss {np.mean(recent):.3f}, {spent:.0f} s", flush=True)
            state = {"parameters": [one.detach() for one in parameters], "done": number, "before": before}
            state |= {"optimiser": optimiser.state_dict(), "schedule": schedule.state_dict()}
            content = io.BytesIO()
            torch.save(state | {"drawing": torch.get_rng_state()}, content)
            replace_file(kept, content.getvalue())
    return {"held_loss_before": before, "held_loss": rejected(model, held)}


def rejected(model: Any, held: Sequence[Turn]) -> float:
    """Mean loss over the questions that nothing was fitted on."""
    import torch

    model.eval()
    with torch.no_grad():
        losses = [float(loss_of(model.get_base_model(), held[at : at + BATCH])) for at in range(0, len(held), BATCH)]
    model.train()
    return round(float(np.mean(losses)), 4)


def gguf_of(model: Any, architecture: str) -> bytes:
    """The fitted matrices as llama.cpp reads them, in half precision."""
    import gguf

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "adapter.gguf"
        writer = gguf.GGUFWriter(path, architecture)
        writer.add_string("general.type", "adapter")
        writer.add_string("adapter.type", "lora")
        writer.add_float32("adapter.lora.alpha", float(ALPHA))
        for name, weights in sorted(model.named_parameters()):
            place = re.search(r"layers\.(\d+)\.self_attn\.(\w+)\.lora_([AB])\.", name)
            if place and weights.requires_grad:
                key = f"blk.{place[1]}.{PROJECTIONS[place[2]]}.weight.lora_{place[3].lower()}"
                writer.add_tensor(key, weights.detach().numpy().astype(np.float16))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return path.read_bytes()


def main() -> None:
    """Read, fit and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=data_root(), help="the folder with the datasets")
    parser.add_argument("--generator", default=DEFAULT_GENERATOR, help="a known name, or a GGUF file of Qwen2's kind")
    parser.add_argument("--steps", type=int, default=200, help=f"batches of {BATCH}")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    if arguments.data is None:
        raise SourceError("there is no data", where="--data", fix="name the data folder, or set FEDRAG_DATA")
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM, AutoTokenizer

    torch.set_num_threads(arguments.threads)
    torch.manual_seed(SEED)
    file = resolve(arguments.generator)
    fitted, back = all_examples(arguments.data, Settings())
    held = back[:HELD]
    said = GenerationCache(fedrag_home() / "benchmarks" / "sentences.sqlite")
    generator = LlamaGenerator(file, threads=arguments.threads, cache=said)
    fitted, held = in_sentences(fitted, generator), in_sentences(held, generator)
    generator.close()
    print(f"{len(fitted)} examples, {len(held)} held back", flush=True)
    tokenizer = AutoTokenizer.from_pretrained(str(file.parent), gguf_file=file.name)  # type: ignore[no-untyped-call]
    whole = AutoModelForCausalLM.from_pretrained(str(file.parent), gguf_file=file.name, dtype=torch.bfloat16)
    layers = whole.config.num_hidden_layers
    config = LoraConfig(
        r=RANK,
        lora_alpha=ALPHA,
        lora_dropout=DROPOUT,
        target_modules=list(PROJECTIONS),
        layers_to_transform=list(range(round(LOWEST * layers), layers)),
        task_type="CAUSAL_LM",
    )
    model = get_peft_model(whole, config)
    for one in model.parameters():
        if one.requires_grad:
            one.data = one.data.float()
    template = ChatTemplate(tokenizer.chat_template)
    asked, left = turns(fitted, template, tokenizer), turns(held, template, tokenizer)
    weights = file_sha256(file)
    settled = repr((weights, arguments.steps, BATCH, RATE, RANK, ALPHA, DROPOUT, LOWEST, asked))
    kept = fedrag_home() / "benchmarks" / f"answer-fit-{hashlib.sha256(settled.encode()).hexdigest()[:12]}.pt"
    kept.parent.mkdir(parents=True, exist_ok=True)
    figures = fit(model, asked, left, arguments.steps, kept)
    content = gguf_of(model, str(whole.config.model_type))
    name = name_of(weights) or file.stem
    copies = [model.sha256 for model in REGISTRY.values() if model.made_from == name]  # the same weights in 8 bits
    adapter = Adapter(
        ANSWERING, reading_prompt("", ()).system, (weights, *copies), hashlib.sha256(content).hexdigest(), content
    )
    manifest = {
        "fitted_by": "python -m simulations.answers.fit_adapter",
        "model": file.name,
        "examples_of": dict(sorted(Counter(one.source for one in fitted).items())),
        "split": "train",
        "share": SHARE,
        "examples": len(asked),
        "steps": arguments.steps,
        "batch": BATCH,
        "rank": RANK,
        "alpha": ALPHA,
        "seed": SEED,
    }
    out = arguments.out or FOLDER / f"{ANSWERING}-{name}.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    write_adapter(out, adapter, manifest | figures)
    kept.unlink(missing_ok=True)
    print(json.dumps(figures), out.name, f"{len(content):,} bytes")


if __name__ == "__main__":
    main()
