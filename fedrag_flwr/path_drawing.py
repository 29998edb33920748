"""An answer path as a chain of vertices, as plain text and as the script that draws it on a page."""

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


PATH_PICTURE = r"""
function drawn(tag, attributes, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

function pathPicture([nodes, links, passage, score]) {
  const WIDTH = 340, BOX = 28, STEP = 74, FITS = 42;
  const cut = (text, most) => (text.length > most ? text.slice(0, most - 1) + "…" : text);
  const parts = [];
  links.forEach(([relation, source, down], i) => {
    const top = 4 + i * STEP + BOX, bottom = 4 + (i + 1) * STEP, tip = down ? bottom : top, back = down ? -8 : 8;
    parts.push(drawn("line", { class: "axis", x1: 24, x2: 24, y1: top, y2: bottom }),
      drawn("polygon", { class: "tip", points: `24,${tip} 19,${tip + back} 29,${tip + back}` }),
      drawn("text", { x: 38, y: top + 19 }, cut(relation, FITS)),
      drawn("text", { class: "where", x: 38, y: top + 36 }, cut(source, FITS)));
  });
  nodes.forEach(([text, asked, bridge], i) => {
    const y = 4 + i * STEP;
    parts.push(drawn("g", { class: "vertex" + (asked ? " asked" : "") + (bridge ? " bridge" : "") },
      drawn("title", {}, text),
      drawn("rect", { x: 4, y, width: WIDTH - 8, height: BOX, rx: 6 }),
      drawn("text", { class: "name", x: 14, y: y + 19 }, cut(text, FITS))));
  });
  const height = 8 + links.length * STEP + BOX;
  const told = nodes.map(([text]) => text).join(", ");
  return el("figure", { class: "path" },
    drawn("svg", { viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": "Answer path: " + told }, ...parts),
    el("figcaption", {}, "to " + passage + ", score " + score));
}
"""
