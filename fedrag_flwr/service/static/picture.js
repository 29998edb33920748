// A hyperedge as a picture: its members around it, as widely tied as they belong to it, and the hyperedges beside it.

import { drawn } from "./answer_paths.js";
import { clip, el } from "./dom.js";

const MOST = 12, LINES = 3, LEADING = 17, BOX = 22 + LINES * LEADING + 8, GAP = 14, PILL = 34, NARROW = 640;
const pen = document.createElement("canvas").getContext("2d");

export function hyperedgePicture(edge) {
  const holder = el("figure", { class: "hyperedge" });
  let width = 0;
  const draw = () => {
    const now = Math.floor(holder.clientWidth);
    if (!now || now === width) return;
    width = now;
    holder.replaceChildren(picture(edge, width), caption(edge));
  };
  new ResizeObserver(draw).observe(holder);
  return holder;
}

function caption(edge) {
  const more = edge.members.length - MOST;
  return el("figcaption", {}, more > 0 ? `The ${MOST} heaviest members; ${more} more are in the table.` : "All members; a box leads to its document, a dashed line to a hyperedge beside it.");
}

function picture(edge, width) {
  const members = edge.members.slice(0, MOST);
  const beside = edge.beside.slice(0, 6);
  const narrow = width < NARROW;
  const boxWidth = narrow ? width - 58 : Math.min(360, Math.floor(width * 0.38));
  const rows = narrow ? members.length : Math.ceil(members.length / 2);
  const top = narrow ? 60 : 10;
  const bottom = top + rows * (BOX + GAP);
  const centre = narrow ? { x: 24, y: 26 } : { x: width / 2, y: top + (rows * (BOX + GAP) - GAP) / 2 };
  const lines = [], boxes = [];
  members.forEach((member, i) => {
    const row = narrow ? i : Math.floor(i / 2);
    const left = !narrow && i % 2 === 0;
    const x = narrow ? 56 : left ? 2 : width - boxWidth - 2;
    const y = top + row * (BOX + GAP);
    const end = { x: left ? x + boxWidth : x, y: y + BOX / 2 };
    const way = narrow ? `M${centre.x} ${centre.y} V${end.y} H${end.x}` : `M${centre.x} ${centre.y} L${end.x} ${end.y}`;
    lines.push(drawn("path", { class: "tie", d: way, "stroke-width": (1 + 8 * member.weight).toFixed(1) }));
    boxes.push(memberBox(member, x, y, boxWidth));
  });
  const columns = narrow ? 1 : Math.min(3, beside.length || 1);
  const pillWidth = Math.floor((width - 4 - (columns - 1) * GAP) / columns);
  const pills = beside.map((one, i) => besideBox(one, 2 + (i % columns) * (pillWidth + GAP), bottom + 34 + Math.floor(i / columns) * (PILL + 8), pillWidth));
  if (beside.length) {
    lines.push(drawn("path", { class: "beside-tie", d: `M${centre.x} ${centre.y} V${bottom + 30}` }),
      drawn("text", { class: "soft-text", x: centre.x + 10, y: bottom + 16 }, "the nearest hyperedges"));
  }
  const height = beside.length ? bottom + 36 + Math.ceil(beside.length / columns) * (PILL + 8) : bottom;
  const core = drawn("g", { class: "core" }, drawn("circle", { cx: centre.x, cy: centre.y, r: 20 }),
    drawn("text", { x: centre.x, y: centre.y + 5, "text-anchor": "middle" }, String(edge.members.length)));
  return drawn("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": `Hyperedge of ${edge.members.length} members; the table below says the same` },
    ...lines, core, ...boxes, ...pills);
}

function memberBox(member, x, y, width) {
  const texts = wrapped(member.text, width - 20, LINES).map((line, i) => drawn("text", { x: x + 10, y: y + 38 + i * LEADING }, line));
  const name = member.title || member.document;
  return boxed(`#document/${encodeURIComponent(member.document)}`, "member", `${name}, membership ${member.weight.toFixed(2)}: ${member.text}`,
    drawn("rect", { x, y, width, height: BOX, rx: 8 }),
    drawn("text", { class: "where", x: x + 10, y: y + 19 }, fitted(`${member.weight.toFixed(2)} · ${name}`, width - 20)), ...texts);
}

function besideBox(one, x, y, width) {
  return boxed(`#hyperedge/${encodeURIComponent(one.id)}`, "beside", `Hyperedge beside it, nearness ${one.nearness.toFixed(2)}: ${one.text}`,
    drawn("rect", { x, y, width, height: PILL, rx: PILL / 2 }), drawn("text", { x: x + 14, y: y + 22 }, fitted(one.text, width - 28)));
}

function boxed(href, kind, told, ...parts) {
  return drawn("a", { href, class: kind, "aria-label": told }, drawn("title", {}, told), ...parts);
}

function fits(text, width) {
  pen.font = `13px ${getComputedStyle(document.body).fontFamily}`;
  return pen.measureText(text).width <= width;
}

function fitted(text, width) {
  if (fits(text, width)) return text;
  let most = text.length;
  while (most > 1 && !fits(clip(text, most), width)) most -= 1;
  return clip(text, most);
}

function wrapped(text, width, most) {
  const lines = [""];
  for (const word of text.split(/\s+/)) {
    const grown = lines.at(-1) ? `${lines.at(-1)} ${word}` : word;
    if (fits(grown, width)) lines[lines.length - 1] = grown;
    else if (lines.length < most) lines.push(fitted(word, width));
    else {
      lines[lines.length - 1] = fitted(`${grown}…`, width);
      break;
    }
  }
  return lines.filter(Boolean);
}
