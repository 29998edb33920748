// Which view is shown: the part of the address after "#", so that links, the back button and bookmarks work.

import { call, Refused } from "./api.js";
import { listen, showEarlier } from "./ask.js";
import { documentView, hyperedgeView, memoryListView, memoryView } from "./memory.js";
import { sharedView } from "./shared.js";
import { stateView } from "./state.js";

const VIEWS = {
  memory: (id) => (id ? memoryView(id) : memoryListView()),
  hyperedge: hyperedgeView,
  document: documentView,
  shared: sharedView,
  "device-state": stateView,
};
const PART_OF = { hyperedge: "memory", document: "memory" };
const ask = document.getElementById("ask");
const view = document.getElementById("view");
const trouble = document.getElementById("trouble");
let turn = 0;

export function showTrouble(error) {
  if (!(error instanceof Refused)) console.error(error);
  trouble.textContent = error instanceof Refused ? error.message : "Something went wrong in this page.";
  trouble.hidden = false;
}

async function show(moved) {
  const mine = ++turn;
  const [name, ...rest] = location.hash.slice(1).split("/");
  const make = VIEWS[name];
  if (!make && name !== "ask" && name !== "") return;
  trouble.hidden = true;
  for (const one of document.querySelectorAll("nav a")) {
    if (one.hash === `#${PART_OF[name] || name || "ask"}`) one.setAttribute("aria-current", "page");
    else one.removeAttribute("aria-current");
  }
  if (make) {
    try {
      const parts = await make(decodeURIComponent(rest.join("/")));
      if (mine !== turn) return;
      view.replaceChildren(...parts);
    } catch (error) {
      if (mine === turn) showTrouble(error);
      return;
    }
  }
  ask.hidden = Boolean(make);
  view.hidden = !make;
  const title = (make ? view : ask).querySelector("h1");
  document.title = title.textContent;
  view.dispatchEvent(new Event("shown"));
  if (moved) title.focus();
}

async function nameDevice() {
  const health = await call("/health");
  document.getElementById("device").textContent = health.device;
}

addEventListener("hashchange", () => show(true));
listen(showTrouble);
nameDevice().then(() => showEarlier(showTrouble)).catch(showTrouble);
show(false);
