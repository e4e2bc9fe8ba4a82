// The grid of nodes by time, and what all jobs did on shared resources below it, on one time axis. Everything is drawn
// on canvases from one answer of the server; the address keeps the time and the nodes that are shown.

import { interval } from "../plots/formats.js";
import { element } from "../plots/headings.js";
import { Panel, Scale } from "./system-drawing.js";
import { follow } from "./system-follow.js";
import { GridPicture, LEFT, RIGHT } from "./system-grid.js";

const LEAST_MS = 60_000; // that are shown
const holder = document.querySelector("[data-grid]");
const readout = document.getElementById("grid-readout");
const idle = readout.textContent;
const dark = window.matchMedia("(prefers-color-scheme: dark)");

let data = null; // the server's answer
let shades = null;
let cursor = null; // {column, row} under the pointer or the keys
let drag = null; // {x, y} where a drag began
let view = null; // {picture, panels}
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
  const picture = new GridPicture(data, shades, width, scale);
  const panels = data.panels.map((panel) => new Panel(panel, data, { width, left: LEFT, right: RIGHT }, scale));
  holder.replaceChildren(picture.element, ...panels.map((panel) => panel.figure));
  view = { picture, panels };
  drawOver();
  panels.forEach((panel) => panel.draw(null));
  showScale(scale);
}

const drawOver = () => view.picture.draw({ cursor, chosen: cursor && jobAt(cursor), selection: drag && cursor && dragged() });

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
  drawOver();
  view.panels.forEach((panel) => panel.draw(cursor && !drag ? cursor.column / data.columns : null));
  read();
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
  const length = Math.max((data.to - data.from) * factor, LEAST_MS);
  const middle = cursor ? timeOf(cursor) : (data.from + data.to) / 2;
  show({ from: Math.max(0, Math.round(middle - length / 2)), to: Math.round(middle + length / 2) });
}

/** What a drag chooses, in pixels: [x0, x1, y0, y1]; one that is not tall chooses all nodes. */
function dragged() {
  const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
  const { width, height } = view.picture;
  const xs = [drag.x, cursor.x].map((x) => clamp(x, LEFT, width - RIGHT)).sort((a, b) => a - b);
  const tall = Math.abs(cursor.y - drag.y) > 14;
  const ys = tall ? [drag.y, cursor.y].map((y) => clamp(y, 0, height)).sort((a, b) => a - b) : [0, height];
  return [...xs, ...ys];
}

function zoomToDrag() {
  const { picture } = view;
  const [x0, x1, y0, y1] = dragged();
  const nodes = y1 - y0 < picture.height ? { first: data.first_of_row[picture.row(y0)], last: data.last_of_row[picture.row(y1 - 0.01)] } : {};
  show({ from: picture.ms(x0), to: Math.max(picture.ms(x1), picture.ms(x0) + LEAST_MS), ...nodes });
}

function open(job) {
  window.location.assign(holder.dataset.job.replace(/0$/, String(job.key)));
}

// --- pointer and keys ---------------------------------------------------------------------------------------

const onGrid = (event) => view && data.rows.length > 0 && event.target === view.picture.overlay;

holder.addEventListener("pointerdown", (event) => {
  if (onGrid(event) && event.button === 0) {
    drag = view.picture.under(event);
    view.picture.overlay.setPointerCapture(event.pointerId);
  }
});
holder.addEventListener("pointermove", (event) => {
  if (onGrid(event)) {
    const at = view.picture.under(event);
    moveTo(!drag && (at.across < 0 || at.across > 1 || at.down < 0 || at.down > 1) ? null : at);
  }
});
holder.addEventListener("pointerup", (event) => {
  if (!drag || !onGrid(event)) {
    return;
  }
  moveTo(view.picture.under(event));
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
