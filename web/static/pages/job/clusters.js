// The segments: a box for each cluster, when their members were hit, the histogram of the chosen one.
import { parameter, setParameters } from "../../plots/address.js";
import { element, how, showNotes } from "../../plots/headings.js";
import { PLOTLY, onChange, size, theme } from "../../plots/theme.js";

const TITLES = {
  boxes: "How long they last: whiskers hold 98 %, the box half of the segments; the bar is the threshold",
  timeline: "When they were hit, and what each lost",
  histogram: "All segments of the chosen cluster",
};
const SEGMENT = ["segment", "from one collective of all ranks to the next; as long as its slowest rank took. Merged short ones count as one of their mean."];
const THRESHOLD = ["threshold", "above it a segment is called hit: what its like, after their own work, take and vary by. Where each member has one of its own, their median is drawn."];
const HOW = {
  boxes: [SEGMENT, ["cluster", "segments that did the same work, by their counters; those with the most time are drawn"], THRESHOLD],
  timeline: [["mark", "a hit segment at its begin; of very many those that lost most"], ["lost", "its duration less what it should have taken"]],
  histogram: [SEGMENT, THRESHOLD],
};
const holder = document.getElementById("clusters");
let names = [];

async function load() {
  const address = new URL(holder.dataset.clusters, window.location);
  address.searchParams.set("theme", theme());
  address.searchParams.set("size", size());
  address.searchParams.set("cluster", parameter("cluster") ?? 0);
  const answer = await fetch(address);
  if (!answer.ok) {
    throw new Error(`the server answered ${answer.status}`);
  }
  const found = await answer.json();
  showNotes(found.notes, found.clusters ? null : holder);
  if (!found.clusters) {
    return;
  }
  names = found.clusters.map(({ closed_by: call }, i) => `cluster ${i + 1}${call ? `: ${call}` : ""}`);
  const parts = Object.entries(TITLES).filter(([name]) => found.figures[name]);
  const figures = parts.map(([name, title]) => {
    const drawing = element("div", "drawing");
    const head = element("div", "toolbar", element("h3", "", title));
    if (name === "histogram" && names.length > 1) {
      head.append(chooser(found.chosen));
    }
    head.append(element("span", "export", how({ title, how: HOW[name] }, files(name, found.chosen))));
    const part = element("figure", `cluster-${name}`, head, drawing);
    part.setAttribute("aria-label", title);
    return [part, drawing, found.figures[name]];
  });
  holder.replaceChildren(...figures.map(([part]) => part));
  for (const [, drawing, { data, layout }] of figures) {
    await Plotly.newPlot(drawing, data, layout, PLOTLY);
    drawing.on("plotly_click", ({ points: [point] }) => choose(point.data.meta?.cluster ?? -1));
  }
  holder.dataset.state = "drawn";
}

/** Where the numbers of a figure are: its own as CSV, those of all figures as JSON. */
const files = (part, cluster) => ({
  CSV: `${holder.dataset.csv}?${new URLSearchParams({ part, cluster })}`,
  JSON: `${holder.dataset.clusters}?${new URLSearchParams({ cluster })}`,
});

function chooser(chosen) {
  const select = element("select", "", ...names.map((name, i) => new Option(name, i, false, i === chosen)));
  select.addEventListener("change", () => choose(Number(select.value)));
  return element("label", "", "Cluster ", select);
}

function choose(cluster) {
  if (cluster >= 0 && String(cluster) !== (parameter("cluster") ?? "0")) {
    setParameters({ cluster });
    start();
  }
}

const start = () => load().catch((error) => holder.replaceChildren(element("p", "loading", `The segments could not be loaded: ${error.message}. Reload the page to try again.`)));

window.addEventListener("popstate", start);
document.addEventListener("job:refreshed", start);
onChange(start);
start();
