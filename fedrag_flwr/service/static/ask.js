// The view in which people ask: the home answer at once, and a better one when the federation has sent it.

import { pathPicture } from "./answer_paths.js";
import { call, listenTo } from "./api.js";
import { el, link, seconds } from "./dom.js";

const POLL_MS = 2000, HISTORY = 20;
const form = document.getElementById("ask-form");
const question = document.getElementById("question");
const button = document.getElementById("ask-button");
const status = document.getElementById("ask-status");
const writing = document.getElementById("writing");
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
      const answer = await listenTo("/v1/ask/aloud", { question: question.value, help }, (text) => { writing.textContent = text; });
      put(answer, showTrouble);
      status.textContent = answer.answer ? `${answer.answer} ${origin(answer)}` : `I do not know. ${answer.why}`;
      question.select();
    } catch (error) {
      status.textContent = "";
      showTrouble(error);
    } finally {
      writing.textContent = "";
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

const origin = ({ told: { lead, name, sure } }) => [lead, name, sure && `(${sure})`].filter(Boolean).join(" ");

function said(answer) {
  const { lead, name, sure } = answer.told;
  const from = answer.answer
    ? [el("span", {}, lead, name ? " " : null, name ? el("em", {}, name) : null), sure ? el("span", { class: `tag ${sure}` }, sure) : null]
    : [answer.why];
  return el("div", {}, words(answer), el("p", { class: "meta" }, from), cited(answer), evidence(answer), paths(answer),
    numbers(answer), verdict(answer));
}

function words(answer) {
  if (!answer.citations.length) return el("p", { class: "said" }, answer.answer || "I do not know.");
  return el("p", { class: "said" }, answer.citations.flatMap((one) => [`${one.sentence} `, el("sup", {}, `[${one.number}]`), " "]));
}

function cited(answer) {
  const places = new Map(answer.citations.map((one) => [one.number, one.place]));
  if (!places.size) return null;
  return el("ul", { class: "cited soft" }, [...places].map(([number, place]) => el("li", {}, `[${number}] ${place}`)));
}

function evidence(answer) {
  const texts = answer.answer ? answer.evidence : answer.near;
  if (!texts.length) return null;
  const shown = texts.map((one, place) => el("li", {}, el("blockquote", {}, passage(answer, one, place)),
    el("cite", {}, one.document ? link("document", one.document, one.title || one.document) : `${one.title} (${one.origin})`)));
  if (!answer.answer) return fold("What came nearest", shown);
  const others = shown.slice(1);
  return el("div", { class: "evidence" }, el("ul", { class: "bearing" }, shown[0]),
    others.length ? fold("Further passages", others) : null);
}

// Of the passage that bears an answer every second part is marked.
function passage(answer, one, place) {
  if (place > 0 || !answer.answer) return one.text;
  return answer.marked[place].map((part, i) => (i % 2 ? el("mark", {}, part) : part));
}

const fold = (name, items) => el("details", {}, el("summary", {}, `${name} (${items.length})`), el("ol", {}, items));

function numbers(answer) {
  const cost = answer.llm_calls === 1 ? "1 call of the model" : `${answer.llm_calls} calls of the model`;
  return el("details", { class: "numbers soft" }, el("summary", {}, "Numbers"),
    el("p", {}, `Path ${answer.path}, confidence ${answer.score.toFixed(2)}, ${seconds(answer.seconds)}, ${cost}.`),
    told(answer) ? el("p", {}, told(answer)) : null);
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
