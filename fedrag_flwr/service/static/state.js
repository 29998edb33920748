// The view of the device itself: questions that wait for help, and how the service is.

import { call } from "./api.js";
import { count, el, facts, moment, table } from "./dom.js";

export async function stateView() {
  const [device, health, outbox] = await Promise.all([call("/v1/device"), call("/health"), waiting()]);
  return [el("h1", { id: "view-title", tabindex: "-1" }, "Device"),
    el("h2", {}, "Questions that wait for help"), outbox,
    el("h2", {}, "Memory and models"), facts(flat(device)),
    el("h2", {}, "Service"), facts(flat(health))];
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
