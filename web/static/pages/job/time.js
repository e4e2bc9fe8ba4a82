// The job over its background, and what rose when it was hit.
import { Stack } from "../../plots/stack.js";
import { Found } from "./found.js";

const found = new Found(document.getElementById("found"));
const stack = new Stack(document.getElementById("stack"), document.getElementById("readout"), {
  clicked: (moment, { figure }) => {
    const hit = figure.hits.find(({ from_ms, to_ms }) => from_ms <= moment && moment <= to_ms);
    if (hit) {
      found.open(hit.from_ms, hit.to_ms);
    }
  },
});

// The list of stretches is part of what a running job refreshes, so the page listens, not the list.
document.addEventListener("click", (event) => {
  const row = event.target.closest("tr[data-from]");
  if (!row || event.ctrlKey || event.metaKey || event.shiftKey) {
    return;
  }
  const [from, to] = [Number(row.dataset.from), Number(row.dataset.to)];
  if (event.target.closest("[data-show]")) {
    stack.zoom?.set([from - (to - from), to + (to - from)]);
    document.getElementById("stack").scrollIntoView({ block: "start" });
  } else if (event.target.closest("[data-hit]")) {
    event.preventDefault();
    found.open(from, to);
  }
});
document.addEventListener("job:refreshed", () => stack.start());
stack.start();
