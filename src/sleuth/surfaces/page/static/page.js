// Starts what needs script; the page works without it.
import { showAnswer } from "./answer.js";
import { forget, listenToButtons, rememberQuestions, showTheme } from "./chrome.js";
import { listenToKeys } from "./keyboard.js";
import { navigateInPlace } from "./navigate.js";
import { completeQuestions } from "./suggest.js";

completeQuestions();
listenToKeys(document);
listenToButtons();
navigateInPlace((signal) => {
  const section = document.querySelector("#answer");
  if (section) showAnswer(section, signal);
  rememberQuestions();
  showTheme();
});
document.addEventListener("submit", (event) => {
  if (event.target.matches(".sign-out")) forget();
  if (event.target.matches(".add, .delete form")) sessionStorage.clear(); // answers may cite what is changed
});
