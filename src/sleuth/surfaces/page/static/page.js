// Starts what needs script; the page works without it.
import { streamAnswer } from "./answer.js";
import { listenToKeys } from "./keyboard.js";

listenToKeys(document);
const section = document.getElementById("answer");
if (section?.hidden) streamAnswer(section);
