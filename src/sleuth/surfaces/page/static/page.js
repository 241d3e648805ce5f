// Starts what needs script; the page works without it.
import { showAnswer } from "./answer.js";
import { listenToKeys } from "./keyboard.js";
import { navigateInPlace } from "./navigate.js";

listenToKeys(document);
navigateInPlace((signal) => {
  const section = document.querySelector("#answer.scripted");
  if (section) showAnswer(section, signal);
});
document.addEventListener("submit", (event) => {
  if (event.target.matches(".sign-out")) sessionStorage.clear();
});
