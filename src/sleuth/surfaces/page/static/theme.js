// Sets the colours that this browser chose, before anything is drawn.
document.documentElement.dataset.theme = localStorage.getItem("theme") ?? "";
