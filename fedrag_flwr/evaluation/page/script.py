"""The report's script: sortable tables, and the list of answers. It writes text nodes only, never markup."""

from fedrag_flwr.evaluation.page.charts import PATH_PICTURE, SVG_NAMESPACE

_LISTS = r"""
"use strict";
const el = (tag, attributes, ...children) => {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) node.setAttribute(key, value);
  node.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return node;
};

for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
    const down = head.getAttribute("aria-sort") !== "descending";
    heads.forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const key = (row) => {
      const cell = row.cells[column];
      const { value } = cell.dataset;
      return value === undefined ? cell.textContent : value === "" ? null : Number(value);
    };
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row) => [key(row), row]);
    rows.sort(([a], [b]) => {
      if (a === null || b === null) return (a === null) - (b === null);
      const order = typeof a === "number" ? a - b : a.localeCompare(b, undefined, { numeric: true });
      return down ? -order : order;
    });
    body.append(...rows.map(([, row]) => row));
  }));
}

const ANSWER = 0, PATH = 1, SCORE = 2, RIGHT = 3, F1 = 4, TOOK = 5, COST = 6, WHY = 7, SOURCES = 8, READ = 9;
const PATHS = 10, TOLD = 11;
const PAGE = 25;

const load = async () => {
  const packed = Uint8Array.from(atob(document.getElementById("data").textContent.trim()), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
};

const state = (answer) => {  // none at all: its system is of a run with other questions
  if (!answer) return ["none", "– not asked"];
  if (answer[ANSWER] === null) return ["none", "– missing"];
  if (answer[RIGHT]) return ["right", "✓ right"];
  return answer[PATH] === "abstained" ? ["none", "– abstained"] : ["wrong", "✗ wrong"];
};

const tag = (answer) => {
  const [kind, text] = state(answer);
  return el("span", { class: "tag " + kind }, text);
};

const card = (system, answer) => {
  const box = el("div", { class: "card" }, el("h4", {}, el("span", {}, system), tag(answer)));
  if (!answer || answer[ANSWER] === null) {
    box.append(el("p", {}, answer ? "No reply came for this question." : "It was not asked this question."));
    return box;
  }
  box.append(el("p", { class: "said" }, answer[ANSWER] || "I do not know."));
  if (answer[TOLD]) box.append(el("p", {}, answer[TOLD]));
  if (answer[READ].length) {
    box.append(el("details", {}, el("summary", {}, "What was read (" + answer[READ].length + ")"),
      el("ol", {}, ...answer[READ].map((parts) => el("li", {}, ...parts.map(marked))))));
  }
  if (answer[PATHS].length) {
    box.append(el("details", { class: "paths" }, el("summary", {}, "Answer paths (" + answer[PATHS].length + ")"),
      ...answer[PATHS].map(pathPicture)));
  }
  box.append(numbers(answer));
  return box;
};

const marked = (part, place) => (place % 2 ? el("mark", {}, part) : part);

const numbers = (answer) => {
  const score = answer[SCORE] === null ? "" : " · confidence " + answer[SCORE];
  const fold = el("details", { class: "soft" }, el("summary", {}, "Numbers"),
    el("p", {}, answer[PATH] + score + " · F1 " + (100 * answer[F1]).toFixed(0) + " · " + answer[TOOK]),
    el("p", {}, answer[COST]));
  if (answer[WHY]) fold.append(el("p", {}, answer[WHY]));
  if (answer[SOURCES].length) fold.append(el("p", {}, ...answer[SOURCES].map((source) => el("code", {}, source))));
  return fold;
};

const show = ({ systems, questions }) => {
  const get = (id) => document.getElementById(id);
  const body = get("list").tBodies[0];
  const fill = (id, values) => get(id).append(...values.map((value) => el("option", { value }, value)));
  const distinct = (values) => [...new Set(values)].sort();
  fill("by-kind", distinct(questions.map((q) => q.kind)));
  fill("by-device", distinct(questions.map((q) => q.home)));
  fill("by-path", distinct(questions.flatMap((q) => q.answers.filter(Boolean).map((a) => a[PATH]))));
  const outcomes = get("by-outcome");
  systems.forEach((name, i) => outcomes.append(
    el("option", { value: "right " + i }, name + " right"),
    el("option", { value: "wrong " + i }, name + " not right"),
  ));
  for (const q of questions) {
    const given = q.answers.map((a) => (a && a[ANSWER]) || "");
    q.text = [q.id, q.question, q.gold, ...q.aliases, ...given].join(" ").toLowerCase();
    q.rights = q.answers.map((a) => a && Boolean(a[RIGHT]));
  }
  const passes = (q, outcome) => {
    const right = q.rights.filter(Boolean).length, asked = q.answers.filter(Boolean).length;
    if (outcome === "all") return right === asked;
    if (outcome === "none") return right === 0;
    if (outcome === "differ") return right > 0 && right < asked;
    const [want, index] = outcome.split(" ");
    return !outcome || q.rights[Number(index)] === (want === "right");
  };
  const row = (q) => {
    const button = el("button", { class: "open", type: "button", "aria-expanded": "false" }, q.question);
    const line = el("tr", {}, el("td", {}, button), el("td", {}, q.gold || "(unanswerable)"),
      el("td", { class: "extra" }, q.kind), el("td", { class: "extra" }, q.home),
      ...q.answers.map((answer) => el("td", { class: "verdict" }, tag(answer))));
    button.addEventListener("click", () => {
      const open = button.getAttribute("aria-expanded") === "true";
      button.setAttribute("aria-expanded", String(!open));
      if (open) { line.nextElementSibling.remove(); return; }
      const also = q.aliases.length ? " (also " + q.aliases.join(", ") + ")" : "";
      const facts = [q.id, q.kind, "asked at " + q.home, "gold: " + (q.gold || "none") + also].join(" · ");
      line.after(el("tr", { class: "detail" }, el("td", { colspan: 4 + systems.length },
        el("p", { class: "soft" }, facts),
        el("div", { class: "cards" }, ...systems.map((name, i) => card(name, q.answers[i]))))));
    });
    return line;
  };
  let found = [], shown = 0;
  const more = () => {
    body.append(...found.slice(shown, shown + PAGE).map(row));
    shown = Math.min(found.length, shown + PAGE);
    get("more").hidden = shown >= found.length;
    get("count").textContent = found.length + (found.length === 1 ? " question" : " questions")
      + (shown < found.length ? ", the first " + shown + " shown" : "");
  };
  const search = () => {
    const words = get("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const [kind, home, path, outcome] = ["by-kind", "by-device", "by-path", "by-outcome"].map((id) => get(id).value);
    found = questions.filter((q) => words.every((word) => q.text.includes(word)) && (!kind || q.kind === kind)
      && (!home || q.home === home) && (!path || q.answers.some((a) => a && a[PATH] === path))
      && passes(q, outcome));
    body.replaceChildren();
    shown = 0;
    more();
  };
  let timer = 0;
  get("search").addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(search, 120); });
  for (const id of ["by-kind", "by-device", "by-path", "by-outcome"]) get(id).addEventListener("change", search);
  get("more").addEventListener("click", more);
  search();
};

load().then(show).catch(() => {
  document.getElementById("count").textContent =
    "This browser cannot unpack the answers; they are in answers.jsonl beside this page.";
});
"""

SCRIPT = _LISTS + SVG_NAMESPACE + PATH_PICTURE
