"""The part of a page's script that draws an answer path as SVG, out of elements and text nodes only.

The report holds no address of any other host, not even the name of SVG's namespace: its script asks the browser for it.
The page at a device draws with the same functions.
"""

SVG_NAMESPACE = r"""
const SVG = new DOMParser().parseFromString("<" + "svg>", "text/html").body.firstChild.namespaceURI;
"""

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
