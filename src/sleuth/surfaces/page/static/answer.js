// Writes an answer into the page while it is streamed. All of it is text: nothing of it becomes markup.

// A signal ends it, so that no model goes on writing for a page that was left.
export async function streamAnswer(section, signal) {
  const text = document.createElement("div");
  text.className = "text";
  text.dir = "auto";
  text.setAttribute("aria-live", "polite");
  text.setAttribute("aria-busy", "true");
  section.append(text);
  section.hidden = false;
  section.classList.add("writing");
  let written = "";
  try {
    for await (const { name, data } of eventsOf(section.dataset.stream, signal)) {
      if (name === "text") {
        written += data.text;
        text.replaceChildren(...linked(written, new Map()));
      } else if (name === "result") {
        finish(section, text, data);
      } else if (name === "error") {
        fail(section, text, written, data.detail ?? data.title);
      }
    }
  } catch (error) {
    if (signal.aborted) return;
    fail(section, text, written, "The connection was lost.");
  }
  text.setAttribute("aria-busy", "false");
  section.classList.remove("writing");
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

function finish(section, text, result) {
  if (result.status === "error" || result.grade === "nothing close") section.classList.add("declined");
  const sources = new Map((result.sources ?? []).map((source) => [source.number, source]));
  text.replaceChildren(...linked(result.response || result.detail?.message || "", sources));
  const cited = new Set((result.citations ?? []).map((citation) => citation.number));
  const list = document.createElement("ol");
  list.className = "read";
  for (const source of sources.values()) {
    if (!cited.has(source.number)) continue;
    const item = document.createElement("li");
    item.value = source.number;
    item.append(link(address(source), visible(source.source)), source.title ? `  ${visible(source.title)}` : "");
    list.append(item);
  }
  if (list.children.length) section.append(list);
}

function fail(section, text, written, message) {
  section.classList.add("failed");
  const note = document.createElement("p");
  note.className = "failure";
  note.setAttribute("role", "status");
  note.textContent = visible(message);
  text.replaceChildren(...linked(written, new Map()), note);
}

// A text as nodes: lists, tables and code as they are written, and citations such as [2] as links to what they cite.
function linked(text, sources) {
  const nodes = [];
  for (const line of visible(text).split("\n")) {
    const kind = /^\s*\|/.test(line) ? "pre" : line.startsWith("- ") ? "li" : line.trim() && "p";
    const last = nodes.at(-1);
    if (kind === "pre") {
      if (last?.tagName === "PRE") last.append("\n", line.trim());
      else nodes.push(element("pre", line.trim()));
    } else if (kind === "li") {
      const item = element("li", ...phrases(line.slice(2), sources));
      if (last?.tagName === "UL") last.append(item);
      else nodes.push(element("ul", item));
    } else if (kind) {
      nodes.push(element("p", ...phrases(line, sources)));
    }
  }
  return nodes;
}

function phrases(line, sources) {
  return line.split(/(\[\d{1,3}\]|`[^`]+`)/).map((part) => {
    if (part.startsWith("`") && part.length > 2) return element("code", part.slice(1, -1));
    const source = /^\[\d+\]$/.test(part) && sources.get(Number(part.slice(1, -1)));
    if (!source) return part;
    const citation = link(address(source), part);
    citation.className = "citation";
    citation.title = visible(source.source);
    return citation;
  });
}

function element(name, ...children) {
  const made = document.createElement(name);
  made.append(...children);
  return made;
}

function link(href, text) {
  const element = document.createElement("a");
  element.href = href;
  element.textContent = text;
  return element;
}

// The result on this page that a source is, else its source view.
function address(source) {
  const hit = [...document.querySelectorAll(".hit[data-id]")].find((item) => source.ids.includes(item.dataset.id));
  if (hit) return `#${hit.id}`;
  const query = new URLSearchParams({ id: source.ids[0], q: new URLSearchParams(location.search).get("q") ?? "" });
  return `/source?${query}`;
}

// Characters that steer how others are shown, as escapes.
function visible(text) {
  return String(text).replace(/[\p{Cc}\p{Cf}]/gu, (char) =>
    "\n\t\u200c\u200d".includes(char) ? char : `\\u{${char.codePointAt(0).toString(16)}}`,
  );
}
