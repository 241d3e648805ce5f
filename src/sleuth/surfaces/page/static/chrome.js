// What stands around the results: the colours, the list of keys, and the questions that were asked in this browser.

const THEMES = ["", "light", "dark"];
const MOST = 8;

export function listenToButtons() {
  showTheme();
  document.addEventListener("click", (event) => {
    const what = event.target.closest?.("[data-do]")?.dataset.do;
    if (what === "theme") nextTheme();
    else if (what === "keys") showKeys(event);
    else if (what === "forget") forget();
  });
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input, textarea, select");
    if (event.key === "?" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) showKeys(event);
  });
}

// Remembers the question of a page, or lists those before it on the first page. Nothing of it leaves the browser.
export function rememberQuestions() {
  const query = new URLSearchParams(location.search).get("q")?.trim();
  const questions = asked();
  if (location.pathname === "/" && query) {
    const others = questions.filter((other) => other !== query);
    localStorage.setItem("questions", JSON.stringify([query, ...others].slice(0, MOST)));
  }
  const section = document.getElementById("history");
  if (!section || !questions.length) return;
  section.hidden = false;
  section.querySelector("ul").replaceChildren(
    ...questions.map((text) => {
      const item = document.createElement("li");
      const link = document.createElement("a");
      link.href = `/?${new URLSearchParams({ q: text })}`;
      link.textContent = text;
      link.dir = "auto";
      item.append(link);
      return item;
    }),
  );
}

export function forget() {
  localStorage.removeItem("questions");
  sessionStorage.clear();
  document.getElementById("history")?.setAttribute("hidden", "");
}

function asked() {
  try {
    return JSON.parse(localStorage.getItem("questions") ?? "[]").filter((text) => typeof text === "string");
  } catch {
    return [];
  }
}

function nextTheme() {
  const theme = THEMES[(THEMES.indexOf(document.documentElement.dataset.theme) + 1) % THEMES.length];
  document.documentElement.dataset.theme = theme;
  localStorage.setItem("theme", theme);
  showTheme();
}

export function showTheme() {
  const label = `Colours: ${document.documentElement.dataset.theme || "as the system"}`;
  for (const button of document.querySelectorAll("[data-do=theme]")) {
    button.setAttribute("aria-label", label);
    button.title = label;
  }
}

function showKeys(event) {
  event.preventDefault();
  document.getElementById("keys").showModal();
}
