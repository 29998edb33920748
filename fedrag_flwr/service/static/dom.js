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

// The roles say what the elements already mean: on a phone their cells stand below each other, and browsers forget it.
export function table(caption, heads, rows) {
  const cell = (value, head) => el("td", { role: "cell", "data-head": head }, typeof value === "number" ? count(value) : value);
  const row = (values) => el("tr", { role: "row" }, values.map((value, i) => cell(value, heads[i])));
  const names = heads.map((head) => el("th", { scope: "col", role: "columnheader" }, head));
  return el("table", { role: "table" }, el("caption", { class: "unseen" }, caption),
    el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, names)), el("tbody", { role: "rowgroup" }, rows.map(row)));
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

export const moment = (since1970) => new Date(since1970 * 1000).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });

export const hour = (since1970) => new Date(since1970 * 1000).toISOString().slice(0, 13).replace("T", " ") + ":00 UTC";

export const clip = (text, most) => (text.length > most ? text.slice(0, most - 1).trimEnd() + "…" : text);
