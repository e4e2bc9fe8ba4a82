// The grid of nodes by time, and what all jobs did on shared resources below it, on one time axis. Everything is drawn
// on canvases from one answer of the server; the address keeps the time and the nodes that are shown.

import { interval } from "../plots/formats.js";
import { element } from "../plots/headings.js";
import { Panel, Scale, timeTicks } from "./system-drawing.js";
import { follow } from "./system-follow.js";

const LEFT = 118; // pixels beside the plots
const RIGHT = 14;
const AXIS = 22;
const TICK = 64; // between two ticks of time at least
const LEAST_ROW = 3; // pixels of a row
const LARGEST = 460; // pixels of the grid
const holder = document.querySelector("[data-grid]");
const readout = document.getElementById("grid-readout");
const idle = readout.textContent;
const dark = window.matchMedia("(prefers-color-scheme: dark)");

let data = null; // the server's answer
let shades = null;
let cursor = null; // {column, row} under the pointer or the keys
let drag = null; // {x, y} where a drag began
let view = null; // {canvas, overlay, width, height, panels}
let asked = new AbortController(); // of what is on its way

// --- loading ---------------------------------------------------------------------------------------------

/** Fetch what the address tells; what was asked for before is given up. around: the tables, too. */
async function load({ around }) {
  asked.abort();
  asked = new AbortController();
  const { signal } = asked;
  holder.dataset.state = "loading";
  const query = new URLSearchParams(window.location.search);
  query.delete("event");
  const parts = around ? follow(window.location.href, signal) : null;
  parts?.catch(() => {}); // told below, after the grid
  const answer = await fetch(`${holder.dataset.grid}?${query}`, { signal });
  if (!answer.ok) {
    throw new Error(answer.status === 400 ? "the time or the nodes above are none (400)" : `the server answered ${answer.status}; reload the page to try again`);
  }
  take(await answer.json());
  await parts;
  holder.dataset.state = "drawn";
}

function take(fresh) {
  const at = cursor && data && { ms: timeOf(cursor), row: cursor.row };
  const isSame = data && data.rows.join() === fresh.rows.join();
  data = fresh;
  shades = Uint8Array.from(atob(data.shades), (letter) => letter.charCodeAt(0));
  cursor = null;
  build();
  if (at && isSame && data.rows.length > 0 && data.from <= at.ms && at.ms < data.to) {
    moveTo({ column: Math.floor(((at.ms - data.from) / (data.to - data.from)) * data.columns), row: at.row });
  }
}

function start({ around = false } = {}) {
  load({ around }).catch((error) => {
    if (error.name !== "AbortError") {
      holder.replaceChildren(element("p", "loading", `The grid could not be loaded: ${error.message}.`));
      holder.dataset.state = "failed";
      view = null;
    }
  });
}

function build() {
  const scale = new Scale(dark.matches);
  const width = holder.clientWidth;
  const rows = data.rows.length;
  const notes = [...data.notes, ...new Set(data.panels.map((panel) => `Plots below the grid: ${panel.how}`))];
  document.querySelector("[data-notes]").replaceChildren(...notes.map((text) => element("li", "", text)));
  if (rows === 0) {
    holder.replaceChildren(element("p", "loading", "No profiled job ran on these nodes in this time."));
    document.querySelector("[data-scale]").hidden = true;
    readout.textContent = idle;
    view = null;
    return;
  }
  const height = Math.max(40, Math.min(LARGEST, Math.max(LEAST_ROW, Math.floor(LARGEST / rows)) * rows, 26 * rows));
  const canvas = surface(width, height);
  const overlay = surface(width, height + AXIS);
  overlay.className = "overlay";
  const stage = element("div", "stage");
  stage.append(canvas, overlay);
  const panels = data.panels.map((panel) => new Panel(panel, data, { width, left: LEFT, right: RIGHT }, scale));
  holder.replaceChildren(stage, ...panels.map((panel) => panel.figure));
  view = { canvas, overlay, width, height, panels, scale };
  fillCells();
  drawOverlay();
  panels.forEach((panel) => panel.draw(null));
  showScale(scale);
}

function surface(width, height) {
  const canvas = document.createElement("canvas");
  const ratio = window.devicePixelRatio || 1;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  canvas.getContext("2d").scale(ratio, ratio);
  return canvas;
}

// --- drawing ---------------------------------------------------------------------------------------------

function fillCells() {
  const rows = data.rows.length;
  const image = new ImageData(data.columns, rows);
  const words = new Uint32Array(image.data.buffer);
  shades.forEach((shade, at) => {
    words[at] = view.scale.word(shade);
  });
  const cells = new OffscreenCanvas(data.columns, rows);
  cells.getContext("2d").putImageData(image, 0, 0);
  const context = view.canvas.getContext("2d");
  context.imageSmoothingEnabled = false;
  context.drawImage(cells, LEFT, 0, view.width - LEFT - RIGHT, view.height);
}

function xOf(ms) {
  return LEFT + ((ms - data.from) / (data.to - data.from)) * (view.width - LEFT - RIGHT);
}

function yOf(row) {
  return (row / data.rows.length) * view.height;
}

function drawOverlay() {
  const context = view.overlay.getContext("2d");
  const { scale, width, height } = view;
  context.clearRect(0, 0, width, height + AXIS);
  context.save();
  context.beginPath();
  context.rect(LEFT, 0, width - LEFT - RIGHT, height);
  context.clip();
  context.lineWidth = 1;
  context.strokeStyle = scale.outline;
  for (const job of data.jobs) {
    outline(context, job);
  }
  const chosen = cursor ? jobAt(cursor) : null;
  if (chosen) {
    context.lineWidth = 2.5;
    context.strokeStyle = scale.accent;
    outline(context, chosen);
  }
  for (const event of data.events) {
    drawEvent(context, event);
  }
  context.restore();
  drawAxes(context);
  if (drag && cursor) {
    const [x0, x1, y0, y1] = dragged();
    context.fillStyle = scale.selection;
    context.fillRect(x0, y0, x1 - x0, y1 - y0);
  } else if (cursor) {
    const x = LEFT + ((cursor.column + 0.5) / data.columns) * (width - LEFT - RIGHT);
    context.fillStyle = scale.ink;
    context.fillRect(x - 0.5, 0, 1, height);
    context.fillRect(LEFT - 5, yOf(cursor.row + 0.5) - 1, 5, 2);
  }
}

function outline(context, job) {
  const x0 = xOf(job.begin);
  const x1 = Math.max(xOf(job.end), x0 + 1);
  for (const [first, last] of job.rows) {
    context.strokeRect(x0 + 0.5, yOf(first) + 0.5, x1 - x0 - 1, yOf(last + 1) - yOf(first) - 1);
  }
}

function drawEvent(context, event) {
  const x0 = Math.max(xOf(event.begin), LEFT);
  const x1 = event.end === null ? view.width - RIGHT : Math.max(xOf(event.end), x0 + 2);
  const row = data.rows.length && event.place ? rowOf(event.place) : -1;
  const [top, bottom] = row >= 0 ? [yOf(row), Math.max(yOf(row + 1), yOf(row) + 4)] : [0, view.height];
  context.fillStyle = view.scale.eventWash;
  context.fillRect(x0, top, x1 - x0, bottom - top);
  context.fillStyle = view.scale.event;
  context.fillRect(x0, top, 2, bottom - top);
  context.font = "11px sans-serif";
  if (row < 0) {
    context.fillText(event.kind.replace("_", " "), x0 + 5, 12);
  }
}

function rowOf(node) {
  const only = data.rows.indexOf(node);
  return only >= 0 ? only : data.first_of_row.findIndex((first, at) => first <= node && node <= data.last_of_row[at] && first.length === node.length);
}

function drawAxes(context) {
  const { scale, width, height } = view;
  context.font = "11px sans-serif";
  context.fillStyle = scale.quiet;
  context.textBaseline = "middle";
  context.textAlign = "right";
  const step = Math.max(1, Math.ceil(data.rows.length / (height / 15)));
  for (let row = 0; row < data.rows.length; row += step) {
    const label = data.per_row > 1 ? data.first_of_row[row] : data.rows[row];
    context.fillText(label.length > 16 ? `${label.slice(0, 15)}…` : label, LEFT - 8, Math.max(yOf(row + 0.5), 6), LEFT - 12);
  }
  context.textBaseline = "alphabetic";
  context.textAlign = "center";
  for (const { ms, label } of timeTicks(data.from, data.to, Math.min(10, (width - LEFT - RIGHT) / TICK))) {
    const x = xOf(ms);
    context.fillRect(x, height, 1, 4);
    context.fillText(label, Math.min(Math.max(x, LEFT + 20), width - 30), height + 16);
  }
  context.textAlign = "left";
}

function showScale(scale) {
  const legend = document.querySelector("[data-scale]");
  const context = legend.querySelector("canvas").getContext("2d");
  for (let x = 0; x < 160; x += 1) {
    context.fillStyle = scale.css(1 + Math.round((x / 159) * 254));
    context.fillRect(x, 0, 1, 10);
  }
  legend.querySelector("[data-scale-high]").textContent = `${digits(data.metric.top)} ${data.metric.unit}`;
  legend.hidden = shades.every((shade) => shade === 0);
}

// --- reading ---------------------------------------------------------------------------------------------

const second = (ms) => 1000 * Math.round(ms / 1000);

function digits(value) {
  return Math.abs(value) >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(2)));
}

const timeOf = ({ column }) => data.from + ((column + 0.5) / data.columns) * (data.to - data.from);

function jobAt(cell) {
  const time = timeOf(cell);
  const width = (data.to - data.from) / data.columns;
  const here = data.jobs.filter(
    (job) => job.begin < time + width / 2 && time - width / 2 < job.end && job.rows.some(([first, last]) => first <= cell.row && cell.row <= last),
  );
  const area = (job) => (job.end - job.begin) * job.nodes;
  return here.sort((a, b) => area(a) - area(b))[0] || null;
}

function read() {
  if (!cursor) {
    readout.textContent = idle;
    return;
  }
  const width = (data.to - data.from) / data.columns;
  const begin = data.from + cursor.column * width;
  const shade = shades[cursor.row * data.columns + cursor.column];
  const value = shade === 0 ? data.metric.blank : shade === 255 ? `≥ ${digits(data.metric.top)} ${data.metric.unit}` : `≈ ${digits(((shade - 1) / 254) * data.metric.top)} ${data.metric.unit}`;
  const job = jobAt(cursor);
  const who = job ? ` · job ${job.name} of ${job.user}: ${job.command}, ${job.nodes} node${job.nodes === 1 ? "" : "s"}` : "";
  readout.textContent = `${interval(second(begin), second(begin + width))} · ${data.rows[cursor.row]} · ${value}${who}`;
}

function moveTo(next) {
  cursor = next && {
    ...next,
    column: Math.min(Math.max(next.column, 0), data.columns - 1),
    row: Math.min(Math.max(next.row, 0), data.rows.length - 1),
  };
  drawOverlay();
  view.panels.forEach((panel) => panel.draw(cursor && !drag ? cursor.column / data.columns : null));
  read();
}

function under(event) {
  const box = view.overlay.getBoundingClientRect();
  const across = (event.clientX - box.left - LEFT) / (view.width - LEFT - RIGHT);
  const down = (event.clientY - box.top) / view.height;
  return { x: event.clientX - box.left, y: event.clientY - box.top, across, down, column: Math.floor(across * data.columns), row: Math.floor(down * data.rows.length) };
}

// --- zoom: an address for each state ------------------------------------------------------------------------

/** Show another state: its changes to the parameters of the address (null: take away), as a step of the history. */
function show(changes) {
  const query = new URLSearchParams(window.location.search);
  query.delete("event");
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === "") {
      query.delete(name);
    } else {
      query.set(name, value);
    }
  }
  visit(`${window.location.pathname}?${query}`);
}

function visit(address) {
  window.history.pushState(null, "", address);
  start({ around: true });
}

function zoomBy(factor) {
  const length = Math.max((data.to - data.from) * factor, 60_000);
  const middle = cursor ? timeOf(cursor) : (data.from + data.to) / 2;
  show({ from: Math.max(0, Math.round(middle - length / 2)), to: Math.round(middle + length / 2) });
}

function dragged() {
  const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
  const xs = [drag.x, cursor.x].map((x) => clamp(x, LEFT, view.width - RIGHT)).sort((a, b) => a - b);
  const tall = Math.abs(cursor.y - drag.y) > 14;
  const ys = tall ? [drag.y, cursor.y].map((y) => clamp(y, 0, view.height)).sort((a, b) => a - b) : [0, view.height];
  return [...xs, ...ys];
}

function zoomToDrag() {
  const [x0, x1, y0, y1] = dragged();
  const ms = (x) => Math.round(data.from + ((x - LEFT) / (view.width - LEFT - RIGHT)) * (data.to - data.from));
  const row = (y) => Math.min(Math.max(Math.floor((y / view.height) * data.rows.length), 0), data.rows.length - 1);
  const nodes = y1 - y0 < view.height ? { first: data.first_of_row[row(y0)], last: data.last_of_row[row(y1 - 0.01)] } : {};
  show({ from: ms(x0), to: Math.max(ms(x1), ms(x0) + 60_000), ...nodes });
}

function open(job) {
  window.location.assign(holder.dataset.job.replace(/0$/, String(job.key)));
}

// --- pointer and keys ---------------------------------------------------------------------------------------

const onGrid = (event) => view && data.rows.length > 0 && event.target === view.overlay;

holder.addEventListener("pointerdown", (event) => {
  if (onGrid(event) && event.button === 0) {
    drag = under(event);
    view.overlay.setPointerCapture(event.pointerId);
  }
});
holder.addEventListener("pointermove", (event) => {
  if (onGrid(event)) {
    const at = under(event);
    moveTo(!drag && (at.across < 0 || at.across > 1 || at.down < 0 || at.down > 1) ? null : at);
  }
});
holder.addEventListener("pointerup", (event) => {
  if (!drag || !onGrid(event)) {
    return;
  }
  moveTo(under(event));
  const moved = Math.abs(cursor.x - drag.x) > 5;
  if (moved) {
    zoomToDrag();
  }
  drag = null;
  if (!moved) {
    const job = jobAt(cursor);
    moveTo(cursor);
    if (job) {
      open(job);
    }
  }
});
holder.addEventListener("pointercancel", () => {
  drag = null;
});
holder.addEventListener("pointerleave", () => {
  if (view && !drag && data.rows.length > 0 && document.activeElement !== holder) {
    moveTo(null);
  }
});
holder.addEventListener("dblclick", () => zoomBy(3));

const step = (event) => (event.shiftKey ? 10 : 1);
const keys = {
  ArrowLeft: (event) => moveTo({ column: (cursor?.column ?? data.columns) - step(event), row: cursor?.row ?? 0 }),
  ArrowRight: (event) => moveTo({ column: (cursor?.column ?? -1) + step(event), row: cursor?.row ?? 0 }),
  ArrowUp: (event) => moveTo({ column: cursor?.column ?? 0, row: (cursor?.row ?? data.rows.length) - step(event) }),
  ArrowDown: (event) => moveTo({ column: cursor?.column ?? 0, row: (cursor?.row ?? -1) + step(event) }),
  Enter: () => {
    const job = cursor && jobAt(cursor);
    if (job) {
      open(job);
    }
  },
  "+": () => zoomBy(0.5),
  "-": () => zoomBy(2),
  0: () => show({ from: null, to: null, first: null, last: null }),
  Escape: () => moveTo(null),
};
holder.addEventListener("keydown", (event) => {
  const action = keys[event.key];
  if (action && view && data.rows.length > 0 && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    action(event);
  }
});

const controls = document.querySelector("[data-controls]");
controls.addEventListener("change", (event) => event.target.localName === "select" && show({ metric: event.target.value }));
controls.addEventListener("submit", (event) => {
  event.preventDefault();
  show(Object.fromEntries(new FormData(controls)));
});
controls.addEventListener("click", (event) => {
  const link = event.target.closest("a");
  if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
    event.preventDefault();
    visit(link.href);
  }
});
window.addEventListener("popstate", () => start({ around: true }));
dark.addEventListener("change", () => data && build());
window.addEventListener("resize", () => data && build());
start();
