// Process or node by slice as an image: point to read a cell, drag to zoom both ways, Enter or click for the process alone.
import { keepInLinks, parameter, setParameters } from "../../plots/address.js";
import { interval, milliseconds, reading, slices } from "../../plots/formats.js";
import { element, how, showNotes } from "../../plots/headings.js";
import { HEAT, PLOTLY, colour, onChange, size, touches } from "../../plots/theme.js";
import { Zoom } from "../../plots/zoom.js";

const DEBOUNCE_MS = 150;
const MANY_HITS = 30; // outlines that would hide the cells
const holder = document.getElementById("heat");
const readout = document.getElementById("readout");
const form = document.querySelector("[data-heat-form]");
const idle = readout.textContent;
const drawing = element("div", "drawing");
const scale = document.querySelector("[data-scale]");
let map = null; // what the server sent
let zoom = null;
let rows = rowsOfAddress(); // {first_row, n_rows} of the zoom, or null for all
let cell = null; // {row, column} under the cursor of the keyboard
let asked = 0;
let timer = 0;

function rowsOfAddress() {
  const [first, count] = [parameter("first_row"), parameter("n_rows")];
  return first !== null && count !== null ? { first_row: Number(first), n_rows: Number(count) } : null;
}

function address() {
  const made = new URL(holder.dataset.heat, window.location);
  for (const control of form.querySelectorAll("select")) {
    made.searchParams.set(control.name, control.value);
  }
  for (const name of ["from", "to"]) {
    if (parameter(name) !== null) {
      made.searchParams.set(name, parameter(name));
    }
  }
  for (const [name, value] of Object.entries(rows || {})) {
    made.searchParams.set(name, value);
  }
  return made;
}

async function load() {
  const mine = ++asked;
  const answer = await fetch(address());
  if (!answer.ok) {
    throw new Error(`the server answered ${answer.status}`);
  }
  const fresh = await answer.json();
  if (mine !== asked) {
    return;
  }
  map = fresh;
  showNotes(map.notes, map.z.length === 0 ? holder : null);
  if (map.z.length === 0) {
    return;
  }
  const { href, search } = address();
  document.querySelector("[data-how]").replaceChildren(how(map, { CSV: `${holder.dataset.csv}${search}`, JSON: href }));
  zoom ??= new Zoom(map.whole, later);
  zoom.grow(map.whole);
  await draw();
}

const start = () => load().catch((error) => holder.replaceChildren(element("p", "loading", `The map could not be loaded: ${error.message}. Reload the page to try again.`)));

function later() {
  rows = rowsOfAddress();
  window.clearTimeout(timer);
  timer = window.setTimeout(start, DEBOUNCE_MS);
}

async function draw() {
  const narrow = size() === "narrow";
  const step = map.slice_ms * map.slices_per_cell;
  const trace = {
    type: "heatmap",
    z: map.z,
    x0: map.first_ms + step / 2,
    dx: step,
    y0: map.first_row + (map.rows_per_cell - 1) / 2,
    dy: map.rows_per_cell,
    ...limits(),
    colorscale: HEAT.map((shade, i) => [i / (HEAT.length - 1), shade]),
    hoverinfo: "none",
    zsmooth: false,
    showscale: false, // plotly.js draws its own with inline styles, which our policy refuses
    xgap: 0.001, // and without a gap it sets one on the image
  };
  const line = colour("--line");
  const layout = {
    height: Math.min(640, Math.max(170, map.z.length * 14 + 60)),
    margin: { l: narrow ? 40 : 64, r: narrow ? 6 : 16, t: 6, b: 40, pad: 0 },
    paper_bgcolor: colour("--card"),
    plot_bgcolor: colour("--stripe"),
    font: { color: colour("--quiet"), size: 11 },
    dragmode: touches() ? false : "zoom",
    xaxis: { type: "date", range: [map.first_ms, map.first_ms + map.n_slices * map.slice_ms], title: { text: "time, UTC", standoff: 4 }, ticks: "outside", tickcolor: line, showgrid: false },
    yaxis: { dtick: Math.max(1, Math.ceil(map.n_rows / 10)), tick0: 0, range: [map.first_row + map.n_rows - 0.5, map.first_row - 0.5], title: { text: map.processes[0] < 0 ? "node" : "process, by rank" }, showgrid: false, zeroline: false, tickformat: "d" },
    shapes: [...map.hits.map(outline), ...cursor()],
  };
  if (!holder.contains(drawing)) {
    holder.replaceChildren(drawing);
    await Plotly.newPlot(drawing, [trace], layout, PLOTLY);
    attach();
  } else {
    await Plotly.react(drawing, [trace], layout, PLOTLY);
  }
  writeScale();
  holder.dataset.state = "drawn";
  holder.dataset.cells = `${map.z.length}x${map.z[0].length}`;
}

/** The smallest and the largest cell; from zero where all are alike. */
function range() {
  const values = map.z.flat().filter((value) => value !== null);
  const [low, high] = values.reduce(([least, most], value) => [Math.min(least, value), Math.max(most, value)], [Infinity, -Infinity]);
  return [low === high ? Math.min(low, 0) : low, high];
}

function limits() {
  const [zmin, zmax] = range();
  return zmin < zmax ? { zmin, zmax } : {};
}

/** What the shades stand for, from the smallest to the largest cell. */
function writeScale() {
  const [low, high] = range();
  const bar = element("span", "scale-bar");
  bar.style.background = `linear-gradient(to right, ${HEAT.join(", ")})`;
  scale.replaceChildren(...(low <= high ? [reading(low, map.unit), bar, reading(high, map.unit)] : []));
}

/** A stretch that was hit: its edges, so that the cells stay as they are. */
const outline = (hit) => ({ type: "rect", name: "hit", xref: "x", yref: "paper", x0: hit.from_ms, x1: hit.to_ms, y0: 0, y1: 1, line: { width: map.hits.length > MANY_HITS ? 0.5 : 1.5, color: "#E69F00", dash: "dot" }, fillcolor: "rgba(0,0,0,0)" });

function cursor() {
  if (!cell) {
    return [];
  }
  const step = map.slice_ms * map.slices_per_cell;
  const [x0, y0] = [map.first_ms + cell.column * step, map.first_row + cell.row * map.rows_per_cell - 0.5];
  return [{ type: "rect", name: "cursor", xref: "x", yref: "y", x0, x1: x0 + step, y0, y1: y0 + map.rows_per_cell, line: { width: 2, color: colour("--high") } }];
}

function attach() {
  drawing.on("plotly_hover", ({ points: [point] }) => read(...point.pointIndex));
  drawing.on("plotly_unhover", () => {
    readout.textContent = idle;
  });
  drawing.on("plotly_click", ({ points: [point] }) => openProcess(point.pointIndex[0]));
  drawing.on("plotly_doubleclick", reset);
  drawing.on("plotly_relayout", (change) => {
    const [from, to, bottom, top] = ["xaxis.range[0]", "xaxis.range[1]", "yaxis.range[0]", "yaxis.range[1]"].map((name) => change[name]);
    if (bottom !== undefined) {
      const [first, last] = [Math.min(bottom, top), Math.max(bottom, top)].map((edge) => Math.round(edge + 0.5));
      const begin = Math.max(first, 0);
      rows = { first_row: begin, n_rows: Math.max(1, Math.min(last, map.all_rows) - begin) };
      setParameters(rows);
    }
    if (from !== undefined) {
      zoom.set([from, to].map(milliseconds));
    } else if (bottom !== undefined) {
      later();
    }
  });
}

function reset() {
  rows = null;
  setParameters({ first_row: null, n_rows: null });
  zoom.by("reset");
}

function read(row, column) {
  const first = column * map.slices_per_cell;
  const count = Math.min(map.slices_per_cell, map.n_slices - first);
  const begin = map.first_ms + first * map.slice_ms;
  const many = map.rows_per_cell > 1 ? ` and ${map.rows_per_cell - 1} more` : "";
  readout.textContent = `${map.labels[row]}${many}: ${reading(map.z[row][column], map.unit)}; ${interval(begin, begin + count * map.slice_ms)}, ${slices(map.first_slice + first, count)}`;
}

/** The lines of one process over the spread of all; of a node there are none, so its processes are shown. */
function openProcess(row) {
  const process = map.processes[row];
  if (process < 0) {
    form.elements.rows.value = "process";
    form.elements.rows.dispatchEvent(new Event("change"));
    return;
  }
  const made = new URL(holder.dataset.one, window.location);
  made.searchParams.set("process", process);
  for (const name of ["from", "to"]) {
    if (parameter(name) !== null) {
      made.searchParams.set(name, parameter(name));
    }
  }
  window.location = made;
}

function move(down, right) {
  const [height, width] = [map.z.length, map.z[0].length];
  const at = cell || { row: 0, column: 0 };
  cell = cell ? { row: Math.min(Math.max(at.row + down, 0), height - 1), column: Math.min(Math.max(at.column + right, 0), width - 1) } : at;
  Plotly.relayout(drawing, { shapes: [...map.hits.map(outline), ...cursor()] });
  read(cell.row, cell.column);
}

holder.addEventListener("keydown", (event) => {
  if (!map?.z.length || event.target !== holder || event.ctrlKey || event.metaKey || event.altKey) {
    return;
  }
  const action = {
    ArrowUp: () => move(-1, 0),
    ArrowDown: () => move(1, 0),
    ArrowLeft: () => move(0, -1),
    ArrowRight: () => move(0, 1),
    "+": () => zoom.by("in"),
    "-": () => zoom.by("out"),
    0: reset,
    Enter: () => cell && openProcess(cell.row),
  }[event.key];
  if (action) {
    event.preventDefault();
    action();
  }
});
form.addEventListener("submit", (event) => event.preventDefault());
for (const control of form.querySelectorAll("select")) {
  control.addEventListener("change", () => {
    rows = control.name === "rows" ? null : rows;
    cell = null;
    setParameters({ [control.name]: control.value, ...(rows ? {} : { first_row: null, n_rows: null }) });
    start();
  });
}
window.addEventListener("popstate", () => {
  for (const control of form.querySelectorAll("select")) {
    control.value = parameter(control.name) ?? control.options[0].value;
  }
});
document.addEventListener("job:refreshed", start);
onChange(start);
keepInLinks();
start();
