// The stacked plots of a job's page: one plotly.js figure, whose headings, readings and controls are the page's own.
"use strict";

(() => {
  const stack = document.getElementById("stack");
  const readout = document.getElementById("readout");
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const narrow = window.matchMedia("(max-width: 700px)");
  const coarse = window.matchMedia("(pointer: coarse)");
  const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit", timeZone: "UTC" });
  const local = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
  const idle = coarse.matches ? "Touch a plot to read all of them. Zoom with + and −." : readout.textContent;
  const drawing = document.createElement("div");
  drawing.className = "drawing";
  let figure = null; // what the server sent
  let current = -1; // index of the point under the crosshair

  // --- drawing -----------------------------------------------------------------------------------------

  async function load() {
    const address = new URL(stack.dataset.figure, window.location);
    address.searchParams.set("theme", dark.matches ? "dark" : "light");
    address.searchParams.set("size", narrow.matches ? "narrow" : "wide");
    const answer = await fetch(address);
    if (!answer.ok) {
      throw new Error(`the server answered ${answer.status}`);
    }
    figure = await answer.json();
    showNotes(figure.notes);
    if (figure.plots.length === 0) {
      stack.replaceChildren(message("There is nothing to draw for this job."));
      return;
    }
    await draw();
  }

  async function draw() {
    const whole = figure.layout.xaxis.range.slice();
    const zoomed = rangeOfAddress(whole);
    figure.layout.dragmode = coarse.matches ? false : "zoom";
    stack.replaceChildren(drawing);
    await Plotly.newPlot(drawing, figure.data, figure.layout, {
      displayModeBar: false,
      doubleClick: false,
      responsive: true,
      showTips: false,
    });
    stack.append(...figure.plots.map(heading));
    drawing.on("plotly_hover", (event) => read(event.points[0].pointIndex));
    drawing.on("plotly_unhover", forget);
    drawing.on("plotly_doubleclick", () => setRange(whole));
    drawing.on("plotly_relayout", keepRange);
    if (zoomed) {
      await setRange(zoomed);
    }
    forget();
    stack.dataset.state = "drawn";
  }

  function message(text) {
    const paragraph = document.createElement("p");
    paragraph.className = "loading";
    paragraph.textContent = text;
    return paragraph;
  }

  function showNotes(notes) {
    document.querySelector("[data-notes]").replaceChildren(
      ...notes.map((text) => {
        const item = document.createElement("li");
        item.textContent = text;
        return item;
      }),
    );
  }

  // --- headings: title, unit, legend with readings, how it was measured -------------------------------------

  function heading(plot) {
    const element = document.createElement("div");
    element.className = `heading heading-${plot.group}`;
    element.style.top = `${plot.top}px`;
    const title = document.createElement("h3");
    title.textContent = plot.title;
    const legend = document.createElement("span");
    legend.className = "series";
    legend.append(...plot.legend.map((entry) => legendEntry(entry, plot.unit)));
    element.append(title, how(plot), legend);
    return element;
  }

  function how(plot) {
    const details = document.createElement("details");
    details.className = "how";
    const summary = document.createElement("summary");
    summary.textContent = "?";
    summary.setAttribute("aria-label", `How "${plot.title}" was measured`);
    summary.title = "How it was measured";
    const list = document.createElement("dl");
    for (const [name, meaning] of plot.how) {
      const term = document.createElement("dt");
      const text = document.createElement("dd");
      term.textContent = name;
      text.textContent = meaning;
      list.append(term, text);
    }
    details.append(summary, list);
    return details;
  }

  function legendEntry(entry, unit) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "entry";
    button.setAttribute("aria-pressed", "true");
    button.title = "Hide or show";
    const swatch = document.createElement("span");
    swatch.className = "swatch";
    swatch.style.borderTopColor = entry.colour;
    swatch.style.borderTopStyle = { solid: "solid", dot: "dotted" }[entry.dash] || "dashed";
    const title = document.createElement("span");
    title.textContent = entry.title;
    const value = document.createElement("output");
    value.dataset.trace = entry.line;
    value.dataset.unit = unit;
    button.append(swatch, title, value);
    button.addEventListener("click", () => {
      const shown = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(shown));
      Plotly.restyle(drawing, { visible: shown }, entry.traces);
    });
    return button;
  }

  // --- crosshair and readings ---------------------------------------------------------------------------

  function read(index) {
    current = index;
    const { first_ms, slice_ms, width, first_slice } = figure.points;
    const begin = new Date(first_ms + index * width * slice_ms);
    const end = new Date(begin.getTime() + width * slice_ms);
    const here = begin.getTimezoneOffset() === 0 ? "" : ` (${local.format(begin)} local)`;
    const number = first_slice + index * width;
    const slices = width === 1 ? `slice ${number}` : `slices ${number} to ${number + width - 1}`;
    readout.textContent = `${clock.format(begin)} – ${clock.format(end)} UTC${here}, ${slices}`;
    for (const output of stack.querySelectorAll("output[data-trace]")) {
      const value = drawing.data[output.dataset.trace].y[index];
      output.textContent = value === null || value === undefined ? "no data" : `${digits(value)} ${output.dataset.unit}`;
    }
  }

  function digits(value) {
    if (value !== 0 && Math.abs(value) < 0.001) {
      return "< 0.001";
    }
    return Math.abs(value) >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3)));
  }

  function forget() {
    current = -1;
    readout.textContent = idle;
    for (const output of stack.querySelectorAll("output[data-trace]")) {
      output.textContent = "";
    }
  }

  function moveTo(index) {
    const { first_ms, slice_ms, width, count } = figure.points;
    const bounded = Math.min(Math.max(index, 0), count - 1);
    Plotly.Fx.hover(drawing, { xval: first_ms + (bounded + 0.5) * width * slice_ms }, ["xy"]);
    read(bounded);
  }

  // --- zoom: one x axis, so one range -------------------------------------------------------------------

  function setRange(range) {
    return Plotly.relayout(drawing, { "xaxis.range": range });
  }

  function milliseconds(edge) {
    return typeof edge === "number" ? edge : Date.parse(`${edge.replace(" ", "T")}Z`);
  }

  function zoomBy(factor) {
    const [begin, end] = drawing.layout.xaxis.range.map(milliseconds);
    const [first, last] = wholeRange();
    const middle = current < 0 ? (begin + end) / 2 : first + (current + 0.5) * figure.points.width * figure.points.slice_ms;
    const half = ((end - begin) * factor) / 2;
    setRange([Math.max(first, middle - half), Math.min(last, middle + half)]);
  }

  function wholeRange() {
    const { first_ms, slice_ms, width, count } = figure.points;
    return [first_ms, first_ms + count * width * slice_ms];
  }

  function zoom(how) {
    if (how === "reset") {
      setRange(wholeRange());
    } else {
      zoomBy(how === "in" ? 0.5 : 2);
    }
  }

  // The range is kept in the fragment of the address, so that a link shows what its sender saw.
  function keepRange() {
    const [begin, end] = drawing.layout.xaxis.range.map(milliseconds);
    const [first, last] = wholeRange();
    const all = begin <= first && end >= last;
    window.history.replaceState(null, "", all ? window.location.pathname + window.location.search : `#t=${Math.round(begin)}-${Math.round(end)}`);
  }

  function rangeOfAddress([first, last]) {
    const match = /^#t=(\d{1,15})-(\d{1,15})$/.exec(window.location.hash);
    const [begin, end] = match ? [Number(match[1]), Number(match[2])] : [NaN, NaN];
    return begin < end && begin < last && end > first ? [begin, end] : null;
  }

  // --- controls -------------------------------------------------------------------------------------------

  const keys = {
    ArrowLeft: () => moveTo(current < 0 ? figure.points.count - 1 : current - 1),
    ArrowRight: () => moveTo(current < 0 ? 0 : current + 1),
    Home: () => moveTo(0),
    End: () => moveTo(figure.points.count - 1),
    "+": () => zoom("in"),
    "-": () => zoom("out"),
    0: () => zoom("reset"),
    Escape: () => {
      Plotly.Fx.unhover(drawing);
      forget();
    },
  };
  stack.addEventListener("keydown", (event) => {
    const action = keys[event.key];
    if (action && figure && event.target === stack && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      action();
    }
  });
  // plotly.js does not hover under a finger, so the crosshair is led there.
  function follow(event) {
    const area = drawing.querySelector(".nsewdrag");
    if (event.pointerType !== "touch" || !area) {
      return;
    }
    const { left, width } = area.getBoundingClientRect();
    const [begin, end] = drawing.layout.xaxis.range.map(milliseconds);
    const moment = begin + ((event.clientX - left) / width) * (end - begin);
    const { first_ms, slice_ms, width: slices } = figure.points;
    moveTo(Math.floor((moment - first_ms) / (slices * slice_ms)));
  }
  drawing.addEventListener("pointerdown", follow, { capture: true });
  drawing.addEventListener("pointermove", follow, { capture: true });
  for (const button of document.querySelectorAll("[data-zoom]")) {
    button.addEventListener("click", () => figure && figure.plots.length && zoom(button.dataset.zoom));
  }

  function start() {
    load().catch((error) => stack.replaceChildren(message(`The plots could not be loaded: ${error.message}. Reload the page to try again.`)));
  }
  dark.addEventListener("change", start);
  narrow.addEventListener("change", start);
  start();
})();
