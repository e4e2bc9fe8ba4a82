// The segments: a box for each cluster, when their members were hit, the histogram of the chosen one.
import { parameter, setParameters } from "../../plots/address.js";
import { element } from "../../plots/headings.js";
import { PLOTLY, onChange, size, theme } from "../../plots/theme.js";

const TITLES = {
  boxes: "How long they last: whiskers hold 98 %, the box half of the segments; the bar is the threshold",
  timeline: "When they were hit, and what each lost",
  histogram: "All segments of the chosen cluster",
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
  document.querySelector("[data-notes]").replaceChildren(...found.notes.map((text) => element("li", "", text)));
  if (!found.clusters) {
    holder.replaceChildren(element("p", "loading", "There is nothing to draw here."));
    holder.dataset.state = "empty";
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
    head.append(files(name, found.chosen));
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

/** The numbers of a figure: its own as CSV, those of all figures as JSON. */
function files(part, cluster) {
  const link = (label, address, query) => {
    const made = element("a", "", label);
    made.href = `${address}?${new URLSearchParams(query)}`;
    return made;
  };
  return element("span", "export", link("CSV", holder.dataset.csv, { part, cluster }), " ", link("JSON", holder.dataset.clusters, { cluster }));
}

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
