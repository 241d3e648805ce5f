// Keys: "/" goes to the question, arrows (or j and k) move between results, Enter opens, Escape goes back to the question.

export function listenToKeys(document) {
  let isFirst = true; // a page may begin with the focus in the question, where the first "/" is this key and no text
  document.addEventListener("keydown", (event) => {
    if (document.querySelector("dialog[open]")) return;
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const field = document.getElementById("q");
    const typing = event.target.closest?.("input, textarea");
    const step = { ArrowDown: 1, ArrowUp: -1, ...(typing ? {} : { j: 1, k: -1 }) }[event.key];
    if (event.key === "/" && (!typing || (isFirst && typing === field && !field.value))) {
      isFirst = false;
      field?.focus();
      field?.select();
    } else if (event.key === "Escape" && !typing) {
      field?.focus();
    } else if (!step || event.target.closest?.("pre, select") || !move(document, step, field)) {
      return;
    }
    event.preventDefault();
  });
}

// Focuses the link of the next result, or the question before the first one; false where there is nowhere to go.
function move(document, step, field) {
  const links = [...document.querySelectorAll(".hit a.open")];
  const current = document.activeElement?.closest(".hit");
  const at = links.findIndex((link) => link.closest(".hit") === current);
  const next = at + step;
  if (next >= links.length || (at < 0 && step < 0)) return false;
  const target = next < 0 ? field : links[next];
  target?.focus();
  target?.closest(".hit")?.scrollIntoView({ block: "nearest" });
  return Boolean(target);
}
