// Completes the question while it is typed: a combobox over what the server suggests. Without script it is a plain field.

const WAIT = 90; // milliseconds without a key before the server is asked
let timer = 0;
let asking = new AbortController();

export function completeQuestions() {
  document.addEventListener("input", (event) => {
    if (event.target.id === "q") later(event.target);
  });
  document.addEventListener("keydown", onKey, true);
  document.addEventListener("focusout", (event) => {
    if (event.target.id === "q") close(event.target);
  });
  document.addEventListener("submit", (event) => {
    const field = event.target.querySelector("#q");
    if (field) close(field);
  });
  document.addEventListener("mousedown", (event) => {
    const option = event.target.closest?.("#suggestions [role=option]");
    if (!option || event.button) return;
    event.preventDefault(); // the field keeps the focus
    choose(option);
  });
}

function later(field) {
  clearTimeout(timer);
  asking.abort();
  if (!field.value.trim()) return close(field);
  timer = setTimeout(() => ask(field), WAIT);
}

async function ask(field) {
  asking = new AbortController();
  const { signal } = asking;
  try {
    const response = await fetch(`/suggest?${new URLSearchParams({ q: field.value })}`, { signal });
    const { suggestions } = response.ok ? await response.json() : { suggestions: [] };
    if (!signal.aborted && document.activeElement === field) show(field, suggestions);
  } catch {
    if (!signal.aborted) close(field); // a question is asked without completions, too
  }
}

function show(field, suggestions) {
  const list = listOf(field);
  list.replaceChildren(
    ...suggestions.map(({ text, kind }, number) => {
      const option = document.createElement("li");
      option.id = `suggestion-${number}`;
      option.role = "option";
      option.ariaSelected = "false";
      option.dataset.text = text;
      const label = document.createElement("bdi");
      label.textContent = text;
      option.append(label);
      if (kind === "title") {
        const what = document.createElement("span");
        what.textContent = "title";
        option.append(" ", what);
      }
      return option;
    }),
  );
  list.hidden = !suggestions.length;
  field.ariaExpanded = String(!list.hidden);
  field.removeAttribute("aria-activedescendant");
}

function listOf(field) {
  let list = document.getElementById("suggestions");
  if (list) return list;
  list = document.createElement("ul");
  list.id = "suggestions";
  list.role = "listbox";
  list.ariaLabel = "Completions";
  list.hidden = true;
  field.form.append(list);
  field.role = "combobox";
  field.ariaAutoComplete = "list";
  field.setAttribute("aria-controls", list.id);
  return list;
}

function close(field) {
  clearTimeout(timer);
  asking.abort();
  const list = document.getElementById("suggestions");
  if (!list) return;
  list.hidden = true;
  field.ariaExpanded = "false";
  field.removeAttribute("aria-activedescendant");
}

function onKey(event) {
  const field = event.target;
  const list = document.getElementById("suggestions");
  if (field.id !== "q" || !list || list.hidden || event.isComposing) return;
  const options = [...list.children];
  const at = options.findIndex((option) => option.ariaSelected === "true");
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    const step = event.key === "ArrowDown" ? 1 : -1;
    const from = at < 0 && step < 0 ? options.length : at;
    select(field, options, from + step);
  } else if (event.key === "Enter" && at >= 0) {
    choose(options[at]);
  } else if (event.key === "Escape") {
    close(field);
  } else {
    return;
  }
  event.preventDefault();
  event.stopPropagation();
}

// Marks an option; beyond either end none is marked, and the field is as it was typed.
function select(field, options, number) {
  for (const [place, option] of options.entries()) option.ariaSelected = String(place === number);
  if (options[number]) {
    field.setAttribute("aria-activedescendant", options[number].id);
    options[number].scrollIntoView({ block: "nearest" });
  } else {
    field.removeAttribute("aria-activedescendant");
  }
}

function choose(option) {
  const field = document.getElementById("q");
  field.value = option.dataset.text;
  close(field);
  field.form.requestSubmit();
}
