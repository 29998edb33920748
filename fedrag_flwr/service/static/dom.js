// Elements out of tags, attributes and text nodes. Nothing here writes markup, so a document that holds some is text.

export const SVG = "http://www.w3.org/2000/svg";

export function el(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key === "onclick") node.addEventListener("click", value);
    else if (value === true) node.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(key, value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
  return node;
}

export const link = (view, id, text) => el("a", { href: `#${view}/${encodeURIComponent(id)}` }, text);

export function table(caption, heads, rows) {
  const head = el("thead", {}, el("tr", {}, heads.map((name) => el("th", { scope: "col" }, name))));
  const body = el("tbody", {}, rows.map((cells) => el("tr", {}, cells.map((cell) =>
    el("td", typeof cell === "number" ? { class: "number" } : {}, typeof cell === "number" ? count(cell) : cell)))));
  return el("div", { class: "wide", role: "region", tabindex: "0", "aria-label": caption },
    el("table", {}, el("caption", {}, caption), head, body));
}

export function facts(pairs) {
  return el("dl", { class: "facts" }, pairs.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
}

export const count = (number) => number.toLocaleString("en");

export function bytes(number) {
  const units = ["B", "KB", "MB", "GB"];
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(number, 1)) / 3)));
  return `${(number / 1000 ** power).toFixed(power ? 1 : 0)} ${units[power]}`;
}

export const seconds = (value) => (value < 1 ? `${Math.round(value * 1000)} ms` : `${value.toFixed(1)} s`);

export const hour = (since1970) => new Date(since1970 * 1000).toISOString().slice(0, 13).replace("T", " ") + ":00 UTC";

export const clip = (text, most) => (text.length > most ? text.slice(0, most - 1).trimEnd() + "…" : text);
