"""An answer path as a chain of vertices, and the chain as plain text."""

from __future__ import annotations

from dataclasses import dataclass

from fedrag_flwr.records import ChosenPath, PathStep


@dataclass(frozen=True, slots=True)
class Node:
    """A vertex of a chain: whether the question mentions it, and whether the path's tuples share it."""

    text: str
    asked: bool
    bridge: bool


@dataclass(frozen=True, slots=True)
class Link:
    """A tuple between a vertex and the next one; `down`: its head is the first of them."""

    relation: str
    passage_id: str
    down: bool


@dataclass(frozen=True, slots=True)
class Chain:
    """Vertices, and a link from each to the next."""

    nodes: tuple[Node, ...]
    links: tuple[Link, ...]


def chain_of(path: ChosenPath) -> Chain:
    """Lay a path's steps out in line: the first ends in the bridge, the last begins there."""
    asked = {vertex.lower() for vertex in path.asked}

    def node(text: str) -> Node:
        return Node(text, text.lower() in asked, text.lower() == path.bridge)

    nodes, links = [], []
    for number, step in enumerate(path.steps):
        towards = number < len(path.steps) - 1  # the bridge
        down = (step.tail if towards else step.head).lower() == path.bridge
        first, second = (step.head, step.tail) if down else (step.tail, step.head)
        nodes += [first, second] if number == 0 else [second]
        links.append(_link(step, down))
    return Chain(tuple(map(node, nodes)), tuple(links))


def _link(step: PathStep, down: bool) -> Link:
    return Link(step.relation, step.passage_id, down)


def for_page(path: ChosenPath) -> list[object]:
    """A path as pages draw it: vertices, links, and the passage that it leads to with its score."""
    chain = chain_of(path)
    nodes = [[node.text, int(node.asked), int(node.bridge)] for node in chain.nodes]
    links = [[link.relation, link.passage_id, int(link.down)] for link in chain.links]
    return [nodes, links, path.passage_id, round(path.score, 3)]


def drawn(path: ChosenPath) -> str:
    """A path as lines of text: ``[mentioned by the question]``, ``(bridge)``, and the tuples between."""
    chain = chain_of(path)
    lines = [_shown(chain.nodes[0])]
    for link, node in zip(chain.links, chain.nodes[1:], strict=True):
        lines += [f"  {'▼' if link.down else '▲'} {link.relation}   {link.passage_id}", _shown(node)]
    return "\n".join(lines)


def _shown(node: Node) -> str:
    text = f"({node.text})" if node.bridge else node.text
    return f"[{text}]" if node.asked else text
