// The view of the device itself: its documents, questions that wait for help, and how the service is.

import { call } from "./api.js";
import { count, el, facts, moment, table } from "./dom.js";

export async function stateView() {
  const [device, health, outbox, reading] = await Promise.all([call("/v1/device"), call("/health"), waiting(), call("/v1/reading")]);
  return [el("h1", { id: "view-title", tabindex: "-1" }, "Device"),
    el("h2", {}, "Documents"), documents(reading),
    el("h2", {}, "Questions that wait for help"), outbox,
    el("h2", {}, "Memory and models"), facts(flat(device)),
    el("h2", {}, "Service"), facts(flat(health))];
}

function documents(reading) {
  const told = el("div", { role: "status" }, ...inWords(reading));
  const files = el("input", { type: "file", id: "new-documents", multiple: "" });
  const again = el("button", { type: "button", class: "quiet" }, "Read the documents again");
  const act = async (work) => {
    again.disabled = files.disabled = true;
    told.replaceChildren("Reading …");
    try {
      told.replaceChildren(...inWords(await work()));
    } catch (error) {
      told.replaceChildren(error.message);
    }
    again.disabled = files.disabled = false;
    files.value = "";
  };
  again.onclick = () => act(() => call("/v1/reading", { method: "POST" }));
  files.onchange = () => act(async () => {
    let last = reading;
    for (const file of [...files.files]) last = await call(`/v1/documents/${encodeURIComponent(file.name)}`, { method: "POST", body: file });
    return last;
  });
  return el("div", {}, told, el("p", {}, el("label", { for: "new-documents" }, "Add documents "), files), el("p", {}, again));
}

function inWords({ state, counts, failed, what }) {
  if (state === "never") return [el("p", {}, "Not read since the service started.")];
  if (state === "reading") return [el("p", {}, "Reading …")];
  if (state === "failed") return [el("p", {}, what)];
  const changes = ["added", "changed", "removed"].filter((name) => counts[name]).map((name) => `${count(counts[name])} ${name}`);
  const lines = [el("p", {}, `${count(counts.documents)} documents are read (${changes.join(", ") || "no change"}).`)];
  const bare = counts["without memory"];
  if (bare) lines.push(el("p", { class: "soft" }, `${count(bare)} gave no memory; their passages are read for answers.`));
  if (failed.length) lines.push(el("p", {}, "These could not be read:"), el("ul", {}, ...failed.map((one) => el("li", {}, one))));
  return lines;
}

async function waiting() {
  const { waiting: list } = await call("/v1/outbox");
  if (!list.length) return el("p", {}, "None waits.");
  const status = el("p", { role: "status" });
  const rows = table("Waiting questions", ["Question", "Asked", "Taken up", "Withdraw"], list.map((one) => [one.text,
    moment(one.asked), one.tries === 1 ? "once" : `${one.tries} times`,
    el("button", { type: "button", class: "quiet", onclick: (event) => withdraw(one, event.target, status) }, "Withdraw")]));
  return el("div", {}, rows, status);
}

async function withdraw(one, button, status) {
  try {
    await call(`/v1/outbox/${encodeURIComponent(one.id)}`, { method: "DELETE" });
    button.closest("tr").remove();
    status.textContent = "The question is withdrawn.";
  } catch (error) {
    status.textContent = error.message;
  }
}

function flat(value, prefix = "") {
  return Object.entries(value).flatMap(([key, inner]) =>
    inner !== null && typeof inner === "object" && !Array.isArray(inner) ? flat(inner, `${prefix}${key} `)
      : [[`${prefix}${key}`.replaceAll("_", " "), typeof inner === "number" ? count(inner) : String(inner)]]);
}
