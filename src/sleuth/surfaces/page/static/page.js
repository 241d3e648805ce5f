// Starts what needs script; the page works without it.
import { streamAnswer } from "./answer.js";
import { listenToKeys } from "./keyboard.js";
import { navigateInPlace } from "./navigate.js";

listenToKeys(document);
navigateInPlace((signal) => {
  const section = document.getElementById("answer");
  if (section?.hidden) streamAnswer(section, signal);
});
