// What stands over each plot of a stack: title, legend with readings, how it was measured, its numbers as files.

export function element(tag, className, ...children) {
  const made = document.createElement(tag);
  if (className) {
    made.className = className;
  }
  made.append(...children);
  return made;
}

/** What has to be said of a drawing: below it as a list; in the place of one that is empty as a sentence. */
export function showNotes(notes, empty = null) {
  document.querySelector("[data-notes]").replaceChildren(...(empty ? [] : notes.map((text) => element("li", "", text))));
  if (empty) {
    empty.replaceChildren(element("p", "loading", notes.join(" ") || "There is nothing to draw here."));
    empty.dataset.state = "empty";
  }
}

/** plot: of the figure's `plots`. toggle(traces, shown): hides or shows lines. files: {CSV: address, JSON: address}. */
export function heading(plot, toggle, files) {
  const made = element("div", `heading heading-${plot.group}`);
  made.dataset.plot = plot.name;
  made.style.top = `${plot.top}px`;
  const legend = element("span", "series", ...plot.legend.map((entry) => legendEntry(entry, plot.unit, toggle)));
  made.append(element("h3", "", plot.title), how(plot, files), legend);
  return made;
}

/** A question mark that opens: how the numbers were measured, and where they are. plot: title, how: [[name, meaning]]. */
export function how(plot, files) {
  const summary = element("summary", "", "?");
  summary.setAttribute("aria-label", `How "${plot.title}" was measured, and its numbers`);
  summary.title = "How it was measured, and its numbers";
  const list = element("dl", "");
  for (const [name, meaning] of plot.how) {
    list.append(element("dt", "", name), element("dd", "", meaning));
  }
  const links = Object.entries(files).map(([label, address]) => {
    const link = element("a", "", label);
    link.href = address;
    return link;
  });
  list.append(element("dt", "", "numbers"), element("dd", "files", ...links));
  return element("details", "how", summary, list);
}

function legendEntry(entry, unit, toggle) {
  const swatch = element("span", "swatch");
  swatch.style.borderTopColor = entry.colour;
  swatch.style.borderTopStyle = { solid: "solid", dot: "dotted" }[entry.dash] || "dashed";
  const value = element("output", "");
  value.dataset.trace = entry.line;
  value.dataset.unit = unit;
  const button = element("button", "entry", swatch, element("span", "", entry.title), value);
  button.type = "button";
  button.setAttribute("aria-pressed", "true");
  button.title = "Hide or show";
  button.addEventListener("click", () => {
    const shown = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(shown));
    toggle(entry.traces, shown);
  });
  return button;
}
