"""An answer path as a chain of vertices, as plain text and as the script that draws it on a page."""

from __future__ import annotations

from fedrag_flwr.records import ChosenPath

Node = tuple[str, bool, bool]  # a vertex: its text, whether the question mentions it, whether the tuples share it
Link = tuple[str, str, bool]  # a tuple's relation and passage; True: its head is the first of the two vertices


def chain_of(path: ChosenPath) -> tuple[list[Node], list[Link]]:
    """A path's vertices in line, and a link from each to the next: the first step ends in the bridge, the last begins
    there.
    """
    asked = {vertex.lower() for vertex in path.asked}
    texts: list[str] = []
    links: list[Link] = []
    for number, step in enumerate(path.steps):
        towards = number < len(path.steps) - 1  # the bridge
        down = (step.tail if towards else step.head).lower() == path.bridge
        first, second = (step.head, step.tail) if down else (step.tail, step.head)
        texts += [first, second] if number == 0 else [second]
        links.append((step.relation, step.passage_id, down))
    return [(text, text.lower() in asked, text.lower() == path.bridge) for text in texts], links


def for_page(path: ChosenPath) -> list[object]:
    """A path as pages draw it: vertices, links, and the passage that it leads to with its score."""
    nodes, links = chain_of(path)
    drawn_nodes = [[text, int(asked), int(bridge)] for text, asked, bridge in nodes]
    drawn_links = [[relation, passage, int(down)] for relation, passage, down in links]
    return [drawn_nodes, drawn_links, path.passage_id, round(path.score, 3)]


def drawn(path: ChosenPath) -> str:
    """A path as lines of text: ``[mentioned by the question]``, ``(bridge)``, and the tuples between."""
    nodes, links = chain_of(path)
    lines = [_shown(nodes[0])]
    for (relation, passage, down), node in zip(links, nodes[1:], strict=True):
        lines += [f"  {'▼' if down else '▲'} {relation}   {passage}", _shown(node)]
    return "\n".join(lines)


def _shown(node: Node) -> str:
    text, asked, bridge = node
    text = f"({text})" if bridge else text
    return f"[{text}]" if asked else text


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
