// Shows an answer while it is written. The server sends elements of a fixed list as JSON: no text becomes markup here.
import { previewPassages } from "./preview.js";

const TAGS = new Set(
  "a bdi blockquote br code div em h3 hr li ol p pre s span strong table tbody td th thead tr ul".split(" "),
);
const KEEP = 30 * 60 * 1000; // milliseconds for which an answer is not written again in this tab

// A signal ends it, so that no model goes on writing for a page that was left.
export async function showAnswer(section, signal) {
  const view = new AnswerView(section, signal);
  if (!section.dataset.stream) return view.finish();
  const kept = remembered(section.dataset.stream);
  if (!kept) return view.write();
  view.show(kept);
  view.finish();
}

class AnswerView {
  constructor(section, signal) {
    this.section = section;
    this.left = signal;
    this.written = section.querySelector(".written");
    linkToResults(this.written);
    previewPassages(section);
    signal.addEventListener("abort", () => this.stop?.abort());
    section.addEventListener("click", (event) => this.act(event.target.closest("[data-do]")?.dataset.do));
  }

  get text() {
    return this.written.querySelector(".text");
  }

  async write() {
    const { signal } = (this.stop = new AbortController());
    this.section.classList.remove("failed", "clipped");
    this.section.classList.add("writing");
    this.text.replaceChildren();
    this.button("again").hidden = true;
    this.button("stop").hidden = false;
    this.say("");
    let nodes = [];
    let isWhole = false;
    try {
      for await (const { name, data } of eventsOf(this.section.dataset.stream, signal)) {
        if (name === "answer") this.show((nodes = data));
        else if (name === "done") isWhole = data.is_whole;
        else this.fail(data.message);
      }
    } catch {
      if (this.left.aborted) return;
      if (!signal.aborted) this.fail("The connection was lost.");
    }
    if (isWhole) remember(this.section.dataset.stream, nodes);
    this.section.classList.remove("writing");
    this.button("stop").hidden = true;
    this.button("again").hidden = isWhole;
    this.say(signal.aborted ? "stopped" : "");
    this.finish();
  }

  // Shows what is written so far. What is there already stays, with the focus and the pointer on it.
  show(nodes) {
    const template = document.createElement("div");
    template.append(...nodes.map(nodeOf));
    linkToResults(template);
    for (const name of [".cards", ".text", ".copy"]) {
      const part = this.written.querySelector(name);
      if (part) update(part, template.querySelector(name));
      else this.written.append(template.querySelector(name));
    }
    this.measure();
  }

  finish() {
    this.button("copy").hidden = !this.written.querySelector(".copy")?.textContent;
    this.measure();
  }

  fail(message) {
    this.section.classList.add("failed");
    this.text.append(element("p", { class: "failure", role: "status" }, message));
  }

  // Offers to unfold what does not fit into the reserved height.
  measure() {
    const isClipped = this.text.scrollHeight > this.text.clientHeight + 2;
    this.section.classList.toggle("clipped", isClipped);
    if (!this.section.classList.contains("open")) this.button("unfold").hidden = !isClipped;
  }

  async act(what) {
    if (what === "stop") this.stop?.abort();
    else if (what === "again") this.write();
    else if (what === "copy") {
      await navigator.clipboard.writeText(this.written.querySelector(".copy").textContent.trim());
      this.say("copied");
    } else if (what === "unfold") {
      const open = this.section.classList.toggle("open");
      this.button("unfold").textContent = open ? "Show less" : "Show all";
    }
  }

  say(state) {
    this.section.querySelector(".state").textContent = state;
  }

  button(name) {
    return this.section.querySelector(`[data-do=${name}]`);
  }
}

// Makes an element like another one, and leaves the children that are the same.
function update(part, fresh) {
  for (const { name, value } of fresh.attributes) part.setAttribute(name, value);
  const children = [...fresh.childNodes];
  for (const [at, child] of children.entries()) {
    const old = part.childNodes[at];
    if (!old) part.append(child);
    else if (!old.isEqualNode(child)) old.replaceWith(child);
  }
  while (part.childNodes.length > children.length) part.lastChild.remove();
}

// The events of a stream, as objects.
async function* eventsOf(address, signal) {
  const response = await fetch(address, { headers: { accept: "text/event-stream" }, signal });
  if (!response.ok) {
    yield { name: "error", data: { message: (await response.json()).detail } };
    return;
  }
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ""; ; ) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const lines = block.split("\n");
      const field = (name) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
      yield { name: field("event"), data: JSON.parse(field("data") ?? "null") };
    }
  }
}

// A text, or an element of the list with its children.
function nodeOf(node) {
  if (typeof node === "string") return document.createTextNode(node);
  const [tag, attributes, children] = node;
  return element(TAGS.has(tag) ? tag : "span", attributes, ...children.map(nodeOf));
}

function element(name, attributes, ...children) {
  const result = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key !== "href" || /^(https?:\/\/|\/(?!\/)|#)/.test(value)) result.setAttribute(key, value);
  }
  result.append(...children);
  return result;
}

// Lets cards and citations lead to the results on this page that they cite.
function linkToResults(part) {
  const hits = [...document.querySelectorAll("[data-id]")];
  for (const card of part.querySelectorAll("[data-ids]")) {
    const ids = JSON.parse(card.dataset.ids);
    const hit = hits.find((item) => ids.includes(item.dataset.id));
    for (const link of hit ? part.querySelectorAll(`[data-number="${card.dataset.number}"]`) : []) link.href = `#${hit.id}`;
  }
}

// Answers that were written in this tab. They are gone when it is closed, and when its reader signs out.
function remembered(address) {
  try {
    const { at, nodes } = JSON.parse(sessionStorage.getItem(`answer ${address}`));
    return Date.now() - at < KEEP ? nodes : null;
  } catch {
    return null;
  }
}

function remember(address, nodes) {
  try {
    sessionStorage.setItem(`answer ${address}`, JSON.stringify({ at: Date.now(), nodes }));
  } catch {
    sessionStorage.clear(); // it is full, or the browser keeps nothing
  }
}
