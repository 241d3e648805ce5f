// Shows the passage that a citation cites while the pointer or the focus is on it.

let shown = null;

export function previewPassages(section) {
  const hide = () => {
    shown?.remove();
    shown = null;
  };
  const show = (event) => {
    const link = event.target.closest?.("a[data-number]");
    hide();
    const card = link && section.querySelector(`.cards [data-number="${link.dataset.number}"]`);
    if (card?.dataset.text) shown = place(link, card.dataset);
  };
  for (const name of ["mouseover", "focusin"]) section.addEventListener(name, show);
  for (const name of ["mouseleave", "focusout", "click"]) section.addEventListener(name, hide);
  document.addEventListener("keydown", (event) => event.key === "Escape" && hide());
}

function place(link, card) {
  const box = document.createElement("div");
  box.id = "preview";
  box.setAttribute("role", "tooltip");
  for (const [name, text] of Object.entries({ strong: card.title, span: card.label, p: card.text })) {
    const part = document.createElement(name);
    part.textContent = text;
    part.style.margin = "0";
    box.append(part);
  }
  document.body.append(box);
  const at = link.getBoundingClientRect();
  const below = at.bottom + box.offsetHeight + 12 < innerHeight;
  box.style.top = `${below ? at.bottom + 6 : Math.max(6, at.top - box.offsetHeight - 6)}px`;
  box.style.left = `${Math.max(8, Math.min(at.left, innerWidth - box.offsetWidth - 8))}px`;
  return box;
}
