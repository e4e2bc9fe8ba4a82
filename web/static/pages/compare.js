// What ran beside each run: the lookup's short answer, fetched one after the other because each takes a moment.
"use strict";

(async () => {
  for (const link of document.querySelectorAll("[data-beside]")) {
    try {
      const answer = await fetch(link.dataset.beside);
      if (answer.ok) {
        link.textContent = (await answer.json()).sentence || link.textContent;
      }
    } catch {
      return; // the link leads to the whole answer
    }
  }
})();
