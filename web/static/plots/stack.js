// Plots stacked over one time axis: one figure of the server, one crosshair, one zoom, finer data where one zooms in.
import { Crosshair, momentAt } from "./crosshair.js";
import { milliseconds } from "./formats.js";
import { element, heading, showNotes } from "./headings.js";
import { toTheEdges } from "./steps.js";
import { PLOTLY, onChange, size, theme, touches } from "./theme.js";
import { Zoom } from "./zoom.js";

const DEBOUNCE_MS = 150;
const MARGIN = 0.05; // of the range, fetched on either side: lines reach the edges

/** Draw what `holder.dataset.figure` answers. Hooks: drawn(stack) after each drawing, clicked(moment, stack). */
export class Stack {
  constructor(holder, readout, hooks = {}) {
    Object.assign(this, { holder, readout, hooks, figure: null, zoom: null, asked: 0, timer: 0 });
    this.drawing = element("div", "drawing");
    this.crosshair = new Crosshair(this.drawing, holder, readout);
    holder.addEventListener("keydown", (event) => this.key(event));
    onChange(() => this.start());
  }

  /** Load and draw; a fault is told in place. */
  start() {
    return this.load().catch((error) => this.say(`The plots could not be loaded: ${error.message}. Reload the page to try again.`));
  }

  async load() {
    const asked = ++this.asked;
    const figure = await this.fetch();
    if (asked !== this.asked) {
      return; // the reader has moved on
    }
    this.figure = figure;
    showNotes(figure.notes, figure.plots.length === 0 ? this.holder : null);
    if (figure.plots.length === 0) {
      this.hooks.drawn?.(this);
      return;
    }
    this.zoom ??= new Zoom(figure.whole, (range) => this.changed(range));
    this.zoom.grow(figure.whole);
    await this.draw();
  }

  async fetch() {
    const address = new URL(this.holder.dataset.figure, window.location);
    address.searchParams.set("theme", theme());
    address.searchParams.set("size", size());
    const range = this.zoom ? !this.zoom.isWhole && this.zoom.range : ["from", "to"].map((name) => new URL(window.location).searchParams.get(name));
    if (range && range.every((edge) => edge !== null)) {
      const margin = Math.max(MARGIN * (range[1] - range[0]), this.figure?.points.slice_ms ?? 0);
      address.searchParams.set("from", Math.max(0, Math.floor(Number(range[0]) - margin)));
      address.searchParams.set("to", Math.ceil(Number(range[1]) + margin));
    }
    const answer = await fetch(address);
    if (!answer.ok) {
      throw new Error(`the server answered ${answer.status}`);
    }
    return answer.json();
  }

  async draw() {
    const { figure, drawing, holder } = this;
    const layout = { ...figure.layout, dragmode: touches() ? false : "zoom" };
    layout.xaxis = { ...layout.xaxis, range: this.zoom.range.slice() };
    const hidden = new Set(this.hidden());
    const data = figure.data.map(toTheEdges).map((trace) => (hidden.has(keyOf(trace)) ? { ...trace, visible: false } : trace));
    const first = !holder.contains(drawing);
    this.crosshair.points = { ...figure.points };
    if (first) {
      holder.replaceChildren(drawing);
      await Plotly.newPlot(drawing, data, layout, PLOTLY);
      this.attach();
    } else {
      await Plotly.react(drawing, data, layout, PLOTLY);
    }
    this.writeHeadings(hidden);
    this.crosshair.forget();
    holder.dataset.state = "drawn";
    holder.dataset.points = `${figure.points.first_slice}+${figure.points.count}x${figure.points.width}`;
    this.hooks.drawn?.(this);
  }

  attach() {
    const { drawing } = this;
    this.crosshair.attach();
    drawing.on("plotly_doubleclick", () => this.zoom.by("reset"));
    drawing.on("plotly_relayout", (change) => {
      const range = change["xaxis.range"] || [change["xaxis.range[0]"], change["xaxis.range[1]"]];
      if (range[0] !== undefined && !this.quiet) {
        this.zoom.set(range.map(milliseconds));
      }
    });
    drawing.on("plotly_click", (event) => this.hooks.clicked?.(momentAt(drawing, event.event.clientX), this));
  }

  writeHeadings(hidden) {
    const open = new Set([...this.holder.querySelectorAll(".heading details[open]")].map((found) => found.closest(".heading").dataset.plot));
    for (const old of this.holder.querySelectorAll(".heading")) {
      old.remove();
    }
    const toggle = (traces, shown) => Plotly.restyle(this.drawing, { visible: shown }, traces);
    for (const plot of this.figure.plots) {
      const made = heading(plot, toggle, this.files(plot));
      made.querySelector("details").open = open.has(plot.name);
      plot.legend.forEach((entry, i) => {
        const shown = !hidden.has(keyOf(this.figure.data[entry.line]));
        made.querySelectorAll(".entry")[i].setAttribute("aria-pressed", String(shown));
      });
      this.holder.append(made);
    }
  }

  /** The lines that the reader has hidden stay hidden when finer data come. */
  hidden() {
    return (this.drawing.data || []).filter((trace) => trace.visible === false).map(keyOf);
  }

  files(plot) {
    const address = (kind) => {
      const made = new URL(this.holder.dataset[kind], window.location);
      made.searchParams.set("plot", plot.name);
      if (!this.zoom.isWhole) {
        made.searchParams.set("from", Math.floor(this.zoom.range[0]));
        made.searchParams.set("to", Math.ceil(this.zoom.range[1]));
      }
      return made.href;
    };
    return { CSV: address("csv"), JSON: address("json") };
  }

  /** The range is shown at once; the data for it come when the reader rests. */
  async changed(range) {
    this.quiet = true;
    await Plotly.relayout(this.drawing, { "xaxis.range": range });
    this.quiet = false;
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.start(), DEBOUNCE_MS);
  }

  key(event) {
    if (event.target !== this.holder || event.ctrlKey || event.metaKey || event.altKey || !this.zoom) {
      return;
    }
    const action = {
      ArrowLeft: () => this.crosshair.step(-1),
      ArrowRight: () => this.crosshair.step(1),
      Home: () => this.crosshair.moveTo(0),
      End: () => this.crosshair.moveTo(this.crosshair.points.count - 1),
      "+": () => this.zoom.by("in", this.crosshair.moment),
      "-": () => this.zoom.by("out", this.crosshair.moment),
      0: () => this.zoom.by("reset"),
      Enter: () => this.crosshair.moment !== undefined && this.hooks.clicked?.(this.crosshair.moment, this),
      Escape: () => this.crosshair.leave(),
    }[event.key];
    if (action) {
      event.preventDefault();
      action();
    }
  }

  say(text) {
    this.holder.replaceChildren(element("p", "loading", text));
  }
}

const keyOf = ({ meta }) => `${meta.plot} ${meta.series} ${meta.part}`;
