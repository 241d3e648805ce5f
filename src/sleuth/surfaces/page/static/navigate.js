// Shows other results in place of those shown, without a new page: the first is then seen much sooner.
// The server sends the same page either way. Where anything is amiss, the browser loads it as it would without script.

let current = new AbortController(); // aborted when the results that are shown are left
let loading = null;
let shown = withoutHash(location);

// Calls started(signal) for the page that is shown, and for each that takes its place; the signal tells when it is left.
export function navigateInPlace(started) {
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.matches("form.search, form.follow")) follow(event, new URL(`/?${new URLSearchParams(new FormData(form))}`, location));
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href]");
    const hit = hits().indexOf(link?.closest(".hit") ?? null);
    if (hit >= 0) history.replaceState({ ...history.state, hit }, ""); // the way back focuses it
    if (event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    if (link && !link.getAttribute("href").startsWith("#")) follow(event, new URL(link.href));
  });
  addEventListener("popstate", (event) => {
    if (withoutHash(location) !== shown) show(new URL(location), event.state?.top ?? 0);
  });
  begin(current.signal);

  function begin(signal) {
    hits()[history.state?.hit]?.querySelector("a.open").focus({ preventScroll: true });
    started(signal);
  }

  // Goes to an address of results, as a new entry of the history.
  function follow(event, url) {
    if (url.origin !== location.origin || url.pathname !== "/" || location.pathname !== "/") return;
    event.preventDefault();
    show(url, 0, (final) => {
      history.replaceState({ ...history.state, top: scrollY }, "");
      if (withoutHash(final) !== shown) history.pushState(null, "", withoutHash(final));
    });
  }

  async function show(url, top, enter = () => {}) {
    loading?.abort();
    const controller = (loading = new AbortController());
    document.querySelector("main").setAttribute("aria-busy", "true");
    const page = await fetched(withoutHash(url), controller.signal);
    if (controller.signal.aborted) return;
    if (!page?.querySelector("main")) return location.assign(url);
    if (new URL(page.URL).search !== url.search) url = new URL(page.URL); // the server sent another address
    enter(url);
    current.abort();
    current = controller;
    shown = withoutHash(url);
    document.title = page.title;
    document.body.className = page.body.className;
    for (const name of ["header", "main"]) document.querySelector(name).replaceWith(page.querySelector(name));
    (document.querySelector("#q[autofocus]") ?? document.querySelector("main")).focus({ preventScroll: true });
    if (url.hash) location.replace(url.hash);
    else scrollTo({ top, behavior: "instant" });
    begin(controller.signal);
  }
}

// A page as a document in which nothing runs, parsed without any sink of trusted types; null where there is none.
function fetched(address, signal) {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest();
    request.responseType = "document";
    request.onload = () => resolve(request.status === 401 ? null : request.response);
    request.onerror = request.onabort = () => resolve(null);
    signal.addEventListener("abort", () => request.abort());
    request.open("GET", address);
    request.send();
  });
}

function hits() {
  return [...document.querySelectorAll(".hit")];
}

function withoutHash(url) {
  return url.href.split("#")[0];
}
