() => [...document.querySelectorAll(".line")].filter(line => line.textContent.startsWith("\t")).map(line => {
  const range = new Range(), text = document.createTreeWalker(line, NodeFilter.SHOW_TEXT).nextNode();
  range.setStart(text, 0), range.setEnd(text, 1);
  return range.getBoundingClientRect().width / parseFloat(getComputedStyle(line).fontSize);
})
