// The views of the memory: the list with its search, one memory, one hyperedge, one document.

import { call } from "./api.js";
import { count, el, facts, link, table } from "./dom.js";
import { hyperedgePicture } from "./picture.js";

const PAGE = 20;

const heading = (text) => el("h1", { id: "view-title", tabindex: "-1" }, text);
const back = () => el("p", {}, el("a", { href: "#memory" }, "All memories"));
const get = (kind, id) => call(`/v1/${kind}/${id.split("/").map(encodeURIComponent).join("/")}`);

function memories(caption, lines) {
  if (!lines.length) return el("p", {}, "There are none.");
  return table(caption, ["Question", "Answer", "Kind", "From"], lines.map((line) =>
    [link("memory", line.id, line.question), line.answer, line.kind, line.own ? "this device" : line.origin]));
}

export async function memoryListView() {
  const words = el("input", { id: "words", type: "search", autocomplete: "off", maxlength: "500" });
  const status = el("p", { role: "status", "aria-live": "polite" });
  const list = el("div");
  const before = el("button", { type: "button", class: "quiet", onclick: () => turn(-PAGE) }, "Earlier");
  const after = el("button", { type: "button", class: "quiet", onclick: () => turn(PAGE) }, "Later");
  let offset = 0;

  async function load() {
    const asked = new URLSearchParams({ query: words.value, offset, limit: PAGE });
    const page = await call(`/v1/memories?${asked}`);
    const last = offset + page.memories.length;
    status.textContent = page.total ? `${count(offset + 1)} to ${count(last)} of ${count(page.total)} memories` : "No memory holds these words.";
    before.disabled = offset === 0;
    after.disabled = last >= page.total;
    list.replaceChildren(memories("Memories", page.memories));
  }
  function turn(by) {
    offset = Math.max(0, offset + by);
    load().catch((error) => { status.textContent = error.message; });
  }
  const form = el("form", { role: "search" }, el("label", { for: "words" }, "Words in the question or answer"),
    el("p", { class: "row" }, words, el("button", { type: "submit" }, "Search")));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    offset = 0;
    turn(0);
  });
  await load();
  return [heading("Memory"),
    el("p", { class: "soft" }, "Question-answer memories, each checked against the sentences that it rests on where it was made."),
    form, status, list, el("p", { class: "row" }, before, after)];
}

export async function memoryView(id) {
  const told = await get("memories", id);
  const { memory } = told;
  return [heading(memory.question), el("p", { class: "said" }, memory.answer),
    facts([["Kind", memory.kind], ["Type of the answer", told.answer_type || "none"],
      ["From", memory.own ? "this device" : memory.origin], ["Anchors", told.anchors.join(", ") || "none"]]),
    el("h2", {}, "Rests on"), memory.own ? units(told.support, "#document") : el("p", {}, `Sentences at ${memory.origin}; they stay there.`),
    el("h2", {}, "Hyperedges"), memory.own
      ? el("ul", {}, told.hyperedges.map((edge) => el("li", {}, link("hyperedge", edge, edge))))
      : el("p", {}, `${told.hyperedges.length} at ${memory.origin}, known here by hidden ids only.`),
    back()];
}

function units(list) {
  if (!list.length) return el("p", {}, "Nothing that is still here.");
  return el("ol", { class: "units" }, list.map((unit) => el("li", {}, el("blockquote", {}, unit.text),
    el("cite", {}, link("document", unit.document, unit.title || unit.document), ` · passage ${unit.passage}`))));
}

export async function hyperedgeView(id) {
  const edge = await get("hyperedges", id);
  const unit = edge.granularity === "sentence" ? "Sentence" : "Passage";
  return [heading(`Hyperedge ${edge.id}`), el("p", { class: "soft" }, `It links ${edge.members.length} ${unit.toLowerCase()}s that belong together. The wider a line, the more a member belongs to it.`),
    hyperedgePicture(edge),
    table("Members", [unit, "Membership", "Document"], edge.members.map((one) =>
      [one.text, one.weight.toFixed(2), link("document", one.document, one.title || one.document)])),
    el("h2", {}, "Memories that rest on it"), memories("Memories that rest on it", edge.memories),
    el("h2", {}, "Beside it"), edge.beside.length
      ? table("The nearest hyperedges", ["Heaviest member", "Nearness"],
        edge.beside.map((one) => [link("hyperedge", one.id, one.text), one.nearness.toFixed(2)]))
      : el("p", {}, "There is no other hyperedge."),
    back()];
}

export async function documentView(id) {
  const told = await get("documents", id);
  return [heading(told.title || told.id),
    facts([["Id", told.id], ["Passages", count(told.passages.length)], ["Sentences", count(told.sentences)]]),
    el("h2", {}, "Passages"), told.passages.map((one) => el("p", { class: "passage" }, one.text)),
    el("h2", {}, "Hyperedges of its sentences"), el("ul", { class: "ids" }, told.hyperedges.map((edge) => el("li", {}, link("hyperedge", edge, edge)))),
    el("h2", {}, "Memories that it brought"), memories("Memories that it brought", told.memories), back()].flat();
}
