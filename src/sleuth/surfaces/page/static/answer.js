// Shows an answer while it is written. The server sends elements of a fixed list as JSON: no text becomes markup here.
import { previewPassages } from "./preview.js";

const TAGS = new Set(
  "a blockquote br code em h3 hr li ol p pre s span strong table tbody td th thead tr ul".split(" "),
);
const KEEP = 30 * 60 * 1000; // milliseconds for which an answer is not written again in this tab

// A signal ends it, so that no model goes on writing for a page that was left.
export async function showAnswer(section, signal) {
  const view = new AnswerView(section, signal);
  const kept = remembered(section.dataset.stream);
  if (kept) view.whole(kept);
  else await view.write();
}

class AnswerView {
  constructor(section, signal) {
    this.section = section;
    this.text = section.querySelector(".text");
    this.left = signal;
    signal.addEventListener("abort", () => this.stop?.abort());
    section.addEventListener("click", (event) => this.act(event.target.closest("[data-do]")?.dataset.do));
  }

  async write() {
    const { signal } = (this.stop = new AbortController());
    this.begin();
    try {
      for await (const { name, data } of eventsOf(this.section.dataset.stream, signal)) {
        if (name === "cards") this.cards(data);
        else if (name === "blocks") this.blocks(data);
        else if (name === "done") this.done(data);
        else if (name === "error") this.fail(data.message);
      }
    } catch {
      if (this.left.aborted) return;
      if (!signal.aborted) this.fail("The connection was lost.");
    }
    this.end(signal.aborted ? "stopped" : "");
    const isWhole = !signal.aborted && !this.section.classList.contains("failed");
    this.button("again").hidden = isWhole;
  }

  begin() {
    this.plain = "";
    this.sent = []; // blocks as the server sent them
    this.text.replaceChildren();
    this.say("");
    this.section.classList.remove("failed", "clipped");
    this.section.classList.add("writing");
    this.text.setAttribute("aria-busy", "true");
    this.button("again").hidden = true;
    this.button("stop").hidden = false;
  }

  cards(cards) {
    const list = this.section.querySelector(".cards");
    this.known = new Map(cards.map((card) => [String(card.number), card]));
    list.replaceChildren(
      ...cards.map((card) => {
        const link = element("a", { href: addressOf(card), "data-number": String(card.number) });
        link.append(element("span", { class: "number" }, String(card.number)), element("bdi", {}, card.name));
        return element("li", {}, link);
      }),
    );
    previewPassages(this.section, this.known);
  }

  blocks({ from, blocks }) {
    this.sent = [...(this.sent ?? []).slice(0, from), ...blocks];
    while (this.text.children.length > from) this.text.lastElementChild.remove();
    this.text.append(...blocks.map((block) => nodeOf(block, this.known)));
    this.measure();
  }

  done(answer) {
    this.plain = answer.text;
    if (answer.failure) return this.fail(answer.failure);
    const isDeclined = answer.grade === "nothing close";
    this.section.classList.toggle("declined", isDeclined);
    const related = this.section.querySelector(".related");
    related.replaceChildren(...(answer.related.length ? ["Related: "] : []));
    for (const [index, [name, url]] of answer.related.entries()) {
      related.append(index ? " · " : "", element("a", { href: url }, name));
    }
    if (answer.warning) this.text.append(element("p", { class: "failure", role: "status" }, answer.warning));
    this.button("copy").hidden = isDeclined;
    remember(this.section.dataset.stream, { ...answer, blocks: this.sent, cards: [...this.known.values()] });
  }

  whole(answer) {
    this.cards(answer.cards);
    this.blocks({ from: 0, blocks: answer.blocks });
    this.done(answer);
    this.end("");
  }

  fail(message) {
    this.section.classList.add("failed");
    this.text.append(element("p", { class: "failure", role: "status" }, message));
  }

  end(state) {
    this.section.classList.remove("writing");
    this.text.setAttribute("aria-busy", "false");
    this.button("stop").hidden = true;
    this.say(state);
    this.measure();
  }

  // Offers to unfold what does not fit into the reserved height; related questions are shown where there is room.
  measure() {
    const classes = this.section.classList;
    const isClipped = () => this.text.scrollHeight > this.text.clientHeight + 2;
    classes.add("roomy");
    classes.toggle("roomy", !isClipped());
    classes.toggle("clipped", isClipped());
    const hidesRelated = !classes.contains("roomy") && this.section.querySelector(".related").hasChildNodes();
    if (!classes.contains("open")) this.button("unfold").hidden = !classes.contains("clipped") && !hidesRelated;
  }

  act(what) {
    if (what === "stop") this.stop?.abort();
    else if (what === "again") this.write();
    else if (what === "copy") this.copy();
    else if (what === "unfold") this.unfold();
  }

  async copy() {
    const sources = [...(this.known ?? new Map()).values()].map((card) => `[${card.number}] ${card.label}`);
    await navigator.clipboard.writeText([this.plain, "", ...sources].join("\n").trim());
    this.say("copied");
  }

  unfold() {
    const open = this.section.classList.toggle("open");
    this.button("unfold").setAttribute("aria-expanded", String(open));
    this.button("unfold").textContent = open ? "Show less" : "Show all";
  }

  say(state) {
    this.section.querySelector(".state").textContent = state;
  }

  button(name) {
    return this.section.querySelector(`[data-do=${name}]`);
  }
}

// The events of a stream, as objects.
async function* eventsOf(address, signal) {
  const response = await fetch(address, { headers: { accept: "text/event-stream" }, signal });
  if (!response.ok || !response.body) throw new Error(String(response.status));
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

// A text, or an element of the list with its children; citations lead to the result on this page that they cite.
function nodeOf(node, cards) {
  if (typeof node === "string") return node;
  const [tag, attributes, children] = node;
  const result = element(TAGS.has(tag) ? tag : "span", attributes);
  const card = attributes["data-number"] && cards?.get(attributes["data-number"]);
  if (card) result.setAttribute("href", addressOf(card));
  result.append(...children.map((child) => nodeOf(child, cards)));
  return result;
}

function element(name, attributes, ...children) {
  const result = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key !== "href" || /^(https?:\/\/|\/(?!\/)|#)/.test(value)) result.setAttribute(key, value);
  }
  result.append(...children);
  return result;
}

// The result on this page that a passage is, else its source view.
function addressOf(card) {
  const hits = [...document.querySelectorAll("[data-id]")];
  const hit = hits.find((item) => card.ids.includes(item.dataset.id));
  return hit ? `#${hit.id}` : card.url;
}

// Answers that were written in this tab. They are gone when it is closed, and when its reader signs out.
function remembered(address) {
  try {
    const { at, answer } = JSON.parse(sessionStorage.getItem(`answer ${address}`));
    return Date.now() - at < KEEP ? answer : null;
  } catch {
    return null;
  }
}

function remember(address, answer) {
  try {
    sessionStorage.setItem(`answer ${address}`, JSON.stringify({ at: Date.now(), answer }));
  } catch {
    sessionStorage.clear(); // it is full, or the browser keeps nothing
  }
}
