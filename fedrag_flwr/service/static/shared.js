// The view of what left this device: by kind and by hour, what it cost, and what the device holds to.

import { call } from "./api.js";
import { bytes, count, el, facts, hour, table } from "./dom.js";

const KINDS = {
  items: "memories",
  evidence: "sentences and passages as evidence",
  summaries: "summaries of subgraphs",
  answers: "answers",
  questions: "questions asked here",
  vectors: "vectors",
  documents: "whole documents",
  sketches: "sketches of what is reached here",
};
const WHOSE = {
  entities: "Entities that surrogates stand for, each in epsilon",
  documents: "Documents that sketches count, all alike, in epsilon",
};
const isMessage = (row) => row.kind.includes(".");

export async function sharedView() {
  const told = await call("/v1/shared");
  const through = told.kinds.filter((row) => !isMessage(row));
  const messages = told.kinds.filter(isMessage);
  const sent = messages.reduce((sum, row) => sum + row.bytes, 0);
  const number = messages.reduce((sum, row) => sum + row.count, 0);
  return [el("h1", { id: "view-title", tabindex: "-1" }, "Shared"),
    el("p", { class: "said" }, number ? `${count(number)} messages left this device, ${bytes(sent)} in all.` : "Nothing has left this device."),
    el("h2", {}, "What passed the export filter"),
    el("p", { class: "soft" }, "Counted when it was released: texts after masking, and vectors. What was kept back never left."),
    through.length ? table("By kind", ["Kind", "Count", "Bytes", "Kept back", "Last"], through.map((row) =>
      [KINDS[row.kind] || row.kind, row.count, bytes(row.bytes), row.withheld, hour(row.hour)])) : el("p", {}, "Nothing yet."),
    el("h2", {}, "Privacy budget"),
    told.budgets.length ? told.budgets.map(budget) : el("p", {}, "None is spent: nothing that leaves is drawn with noise."),
    el("h2", {}, "What this device holds to"),
    facts(told.held.map((one) => [one.name, one.value === "" ? "none" : String(one.value)])),
    el("h2", {}, "Whose memories are here"),
    table("Memories by origin", ["From", "Memories"], told.origins.map((one) => [one.own ? `${one.name} (this device)` : one.name, one.memories])),
    el("h2", {}, "Messages"),
    messages.length ? table("By type", ["Type", "Count", "Bytes", "Last"], messages.map((row) => [row.kind, row.count, bytes(row.bytes), hour(row.hour)])) : el("p", {}, "None yet."),
    el("h2", {}, "Lately"),
    told.newest.length ? table("By hour", ["Hour", "Run", "Kind", "Count", "Bytes", "Kept back"], told.newest.map((row) =>
      [hour(row.hour), row.run || "none", KINDS[row.kind] || row.kind, row.count, bytes(row.bytes), row.withheld])) : el("p", {}, "Nothing yet."),
  ].flat();
}

function budget({ whose, account }) {
  const id = `budget-${whose}`;
  const left = Math.max(0, account.limit - account.most);
  return el("div", { class: "budget" }, el("label", { for: id }, WHOSE[whose] || whose),
    el("meter", { id, min: 0, max: account.limit, high: 0.8 * account.limit, value: account.most }, `${account.most} of ${account.limit}`),
    el("p", { class: "soft" }, `The one that spent most spent ${account.most.toFixed(2)} of ${account.limit.toFixed(2)}, ${left.toFixed(2)} is left; ` +
      `${account.mean.toFixed(2)} on average over ${count(account.entities)}; ${count(account.exhausted)} have nothing left.`));
}
