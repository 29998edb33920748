// The view in which people ask: the home answer at once, and a better one when the federation has sent it.

import { pathPicture } from "./answer_paths.js";
import { call } from "./api.js";
import { el, link, seconds } from "./dom.js";

const PATHS = {
  memorizer: "from memory",
  cognizer: "from evidence, by the small model",
  remote: "with the federation's help",
  cache: "from the cache",
  abstained: "declined",
};
const POLL_MS = 2000, HISTORY = 20;
const form = document.getElementById("ask-form");
const question = document.getElementById("question");
const button = document.getElementById("ask-button");
const status = document.getElementById("ask-status");
const answers = document.getElementById("answers");

export async function showEarlier(showTrouble) {
  const { answers: earlier } = await call("/v1/answers");
  for (const answer of earlier.filter((one) => one.question).slice(0, HISTORY).reverse()) put(answer, showTrouble);
}

export function listen(showTrouble) {
  question.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      form.requestSubmit();
    }
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    button.disabled = true;
    status.textContent = "Looking for an answer…";
    try {
      const help = document.getElementById("help").checked;
      const answer = await call("/v1/ask", { method: "POST", body: { question: question.value, help } });
      put(answer, showTrouble);
      status.textContent = `Answered ${PATHS[answer.path] || answer.path}: ${answer.answer || "I do not know."}`;
      question.select();
    } catch (error) {
      status.textContent = "";
      showTrouble(error);
    } finally {
      button.disabled = false;
    }
  });
}

function put(answer, showTrouble) {
  const card = el("article", { class: "card" }, el("h3", {}, answer.question), said(answer), later(answer));
  document.getElementById("answers-title").hidden = false;
  answers.prepend(card);
  if (answer.waiting) setTimeout(() => poll(answer, card, showTrouble), POLL_MS);
}

async function poll(first, card, showTrouble) {
  try {
    const now = await call(`/v1/answers/${encodeURIComponent(first.id)}`);
    if (now.waiting) {
      setTimeout(() => poll(first, card, showTrouble), POLL_MS);
      return;
    }
    const helped = now.path !== first.path || now.answer !== first.answer;
    card.querySelector(".later").replaceChildren(...(helped
      ? [el("h4", {}, "Then the federation answered"), said(now)]
      : [el("p", { class: "waiting" }, "Nobody in the federation could help; the answer above stands.")]));
    status.textContent = helped ? `The federation answered “${first.question}”: ${now.answer}` : `No help came for “${first.question}”.`;
  } catch (error) {
    showTrouble(error);
    if (error.status === 0 || error.status === 503) setTimeout(() => poll(first, card, showTrouble), POLL_MS);
  }
}

const later = (answer) => el("div", { class: "later" }, answer.waiting
  ? el("p", { class: "waiting" }, "The question waits for help from the federation; a better answer appears here.") : null);

const told = (answer) => answer.decisions.map((one) => one.said).filter(Boolean).join("; ");

function said(answer) {
  const declined = answer.path === "abstained";
  const origins = [...new Set(answer.sources.map((source) => source.split("/")[0]))].filter(Boolean);
  const cost = answer.llm_calls === 1 ? "1 call of the model" : `${answer.llm_calls} calls of the model`;
  return el("div", {},
    el("p", { class: "said" }, answer.answer || "I do not know."),
    el("p", { class: "meta" },
      el("span", { class: `tag ${answer.path}` }, PATHS[answer.path] || answer.path),
      `score ${answer.score.toFixed(2)}`, answer.seconds ? ` · ${seconds(answer.seconds)} · ${cost}` : null),
    told(answer) ? el("p", { class: "soft" }, told(answer)) : null,
    origins.length && !declined ? el("p", { class: "soft" }, `Rests on what these devices hold: ${origins.join(", ")}.`) : null,
    evidence(answer, declined), paths(answer), verdict(answer));
}

function evidence(answer, declined) {
  if (!answer.evidence.length) return null;
  const distinct = new Map(answer.evidence.map((one) => [`${one.passage}\n${one.text}`, one]));
  const shown = [...distinct.values()].map((one) => el("li", {},
    el("blockquote", {}, one.text || "at another device"),
    el("cite", {}, one.document ? link("document", one.document, one.title || one.document) : one.title,
      one.passage ? ` · passage ${one.passage}` : null)));
  const name = declined ? "What came nearest" : "Evidence";
  return el("details", { class: "evidence", open: !declined }, el("summary", {}, `${name} (${shown.length})`), el("ol", {}, shown));
}

function paths(answer) {
  if (!answer.drawn.length) return null;
  return el("details", { class: "paths" }, el("summary", {}, `Answer paths (${answer.drawn.length})`), answer.drawn.map(pathPicture));
}

function verdict(answer) {
  const told = el("span", { role: "status" });
  const choices = [["good", "Good answer"], ["bad", "Bad answer"]].map(([value, name]) =>
    el("button", { type: "button", class: "quiet", "aria-pressed": "false", onclick: (event) => give(value, event.target) }, name));
  async function give(value, pressed) {
    try {
      await call("/v1/feedback", { method: "POST", body: { answer: answer.id, verdict: value } });
      for (const one of choices) one.setAttribute("aria-pressed", String(one === pressed));
      told.textContent = "Thank you.";
    } catch (error) {
      told.textContent = error.message;
    }
  }
  return el("p", { class: "verdict row" }, choices, told);
}
