"""Multi-hop sets from the Hugging Face hub, where it can be reached: their rows in the schema of `benchmark`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fedrag_flwr.errors import DocumentError, SourceError

PREFIX = "hub:"
SPLITS = {"dev": "validation", "train": "train"}


def read_hub(name: str, split: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Give the numbered rows of a set, such as ``hub:hotpotqa/hotpot_qa:distractor``.

    Parameters
    ----------
    name
        ``hub:``, the set's name and, after another colon, its configuration.
    split
        ``dev`` or ``train``.

    Raises
    ------
    SourceError
        The package `datasets` is not installed, or the set cannot be had.
    DocumentError
        A row has neither HotpotQA's nor MuSiQue's fields.
    """
    plain, _, configuration = name.removeprefix(PREFIX).partition(":")
    try:
        from datasets import load_dataset
    except ImportError:
        raise SourceError("the package datasets is not installed", where=name, fix="pip install datasets") from None
    try:
        rows = load_dataset(plain, configuration or None, split=SPLITS[split])
    except Exception as error:  # the hub's client raises whatever its transport raises
        raise SourceError(
            f"the hub did not give it ({type(error).__name__})",
            where=name,
            fix="check name and network, or use a file",
        ) from None
    for number, row in enumerate(rows, 1):
        try:
            yield number, in_schema(row, split)
        except (KeyError, TypeError, AttributeError, ValueError):
            raise DocumentError(
                "the row has neither HotpotQA's nor MuSiQue's fields",
                where=f"{name}:{number}",
                fix="choose another set",
            ) from None


def in_schema(row: Mapping[str, Any], split: str) -> dict[str, Any]:
    """Bring a row of HotpotQA's or 2WikiMultihopQA's shape (context of titles and sentences) or MuSiQue's into ours."""
    common = {
        "id": row["id"],
        "question": row["question"],
        "answer": row["answer"],
        "split": split,
        "setting": "distractor",
    }
    if "context" in row:
        gold = set(row["supporting_facts"]["title"])
        titles, sentences = row["context"]["title"], row["context"]["sentences"]
        pairs: Sequence[tuple[str, list[str]]] = list(zip(titles, sentences, strict=True))
        paragraphs = [
            {"title": title, "text": _joined(texts), "is_supporting": title in gold} for title, texts in pairs
        ]
        return {**common, "aliases": [], "type": row["type"], "paragraphs": paragraphs}
    paragraphs = [
        {"title": one["title"], "text": one["paragraph_text"], "is_supporting": one["is_supporting"]}
        for one in row["paragraphs"]
    ]
    hops = str(row["id"]).partition("__")[0]
    return {**common, "aliases": list(row["answer_aliases"]), "type": hops, "paragraphs": paragraphs}


def _joined(sentences: Sequence[str]) -> str:
    """HotpotQA's sentences carry their own spaces, 2WikiMultihopQA's do not."""
    return " ".join(sentence.strip() for sentence in sentences)
