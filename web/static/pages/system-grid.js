// The picture of the grid: cells below, and over them what follows the pointer: outlines, events, axes, the cursor.

import { timeTicks } from "./system-drawing.js";

export const LEFT = 118; // pixels beside the plots
export const RIGHT = 14;
const AXIS = 22;
const TICK = 64; // between two ticks of time at least
const LEAST_ROW = 3; // pixels of a row
const MOST_ROW = 26;
const LEAST = 40; // pixels of the grid
const LARGEST = 460;

export class GridPicture {
  /** data: the server's answer. shades: Uint8Array [row * columns + column]. width: in pixels, of the whole. */
  constructor(data, shades, width, scale) {
    const rows = data.rows.length;
    const height = Math.max(LEAST, Math.min(LARGEST, Math.max(LEAST_ROW, Math.floor(LARGEST / rows)) * rows, MOST_ROW * rows));
    Object.assign(this, { data, shades, width, height, scale });
    this.canvas = surface(width, height);
    this.overlay = surface(width, height + AXIS);
    this.overlay.className = "overlay";
    this.element = document.createElement("div");
    this.element.className = "stage";
    this.element.append(this.canvas, this.overlay);
    this.fillCells();
  }

  fillCells() {
    const { columns, rows } = this.data;
    const image = new ImageData(columns, rows.length);
    const words = new Uint32Array(image.data.buffer);
    this.shades.forEach((shade, at) => {
      words[at] = this.scale.word(shade);
    });
    const cells = new OffscreenCanvas(columns, rows.length);
    cells.getContext("2d").putImageData(image, 0, 0);
    const context = this.canvas.getContext("2d");
    context.imageSmoothingEnabled = false;
    context.drawImage(cells, LEFT, 0, this.across, this.height);
  }

  /** Pixels of the plot itself. */
  get across() {
    return this.width - LEFT - RIGHT;
  }

  x(ms) {
    return LEFT + ((ms - this.data.from) / (this.data.to - this.data.from)) * this.across;
  }

  ms(x) {
    return Math.round(this.data.from + ((x - LEFT) / this.across) * (this.data.to - this.data.from));
  }

  y(row) {
    return (row / this.data.rows.length) * this.height;
  }

  row(y) {
    return Math.min(Math.max(Math.floor((y / this.height) * this.data.rows.length), 0), this.data.rows.length - 1);
  }

  /** Where a pointer is: in pixels, as shares of the plot, and which cell; outside of the plot too. */
  under(event) {
    const box = this.overlay.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const [across, down] = [(x - LEFT) / this.across, y / this.height];
    return { x, y, across, down, column: Math.floor(across * this.data.columns), row: Math.floor(down * this.data.rows.length) };
  }

  /** What lies over the cells. cursor: {column, row} or null; chosen: a job or null; selection: [x0, x1, y0, y1] or null. */
  draw({ cursor, chosen, selection }) {
    const context = this.overlay.getContext("2d");
    const { scale, width, height } = this;
    context.clearRect(0, 0, width, height + AXIS);
    context.save();
    context.beginPath();
    context.rect(LEFT, 0, this.across, height);
    context.clip();
    context.lineWidth = 1;
    context.strokeStyle = scale.outline;
    this.data.jobs.forEach((job) => this.outline(context, job));
    if (chosen) {
      context.lineWidth = 2.5;
      context.strokeStyle = scale.accent;
      this.outline(context, chosen);
    }
    this.data.events.forEach((event) => this.drawEvent(context, event));
    context.restore();
    this.drawAxes(context);
    if (selection) {
      const [x0, x1, y0, y1] = selection;
      context.fillStyle = scale.selection;
      context.fillRect(x0, y0, x1 - x0, y1 - y0);
    } else if (cursor) {
      context.fillStyle = scale.ink;
      context.fillRect(LEFT + ((cursor.column + 0.5) / this.data.columns) * this.across - 0.5, 0, 1, height);
      context.fillRect(LEFT - 5, this.y(cursor.row + 0.5) - 1, 5, 2);
    }
  }

  outline(context, job) {
    const x0 = this.x(job.begin);
    const x1 = Math.max(this.x(job.end), x0 + 1);
    for (const [first, last] of job.rows) {
      context.strokeRect(x0 + 0.5, this.y(first) + 0.5, x1 - x0 - 1, this.y(last + 1) - this.y(first) - 1);
    }
  }

  drawEvent(context, event) {
    const x0 = Math.max(this.x(event.begin), LEFT);
    const x1 = event.end === null ? this.width - RIGHT : Math.max(this.x(event.end), x0 + 2);
    const row = event.place ? this.rowOf(event.place) : -1;
    const [top, bottom] = row >= 0 ? [this.y(row), Math.max(this.y(row + 1), this.y(row) + 4)] : [0, this.height];
    context.fillStyle = this.scale.eventWash;
    context.fillRect(x0, top, x1 - x0, bottom - top);
    context.fillStyle = this.scale.event;
    context.fillRect(x0, top, 2, bottom - top);
    context.font = "11px sans-serif";
    if (row < 0) {
      context.fillText(event.kind.replace("_", " "), x0 + 5, 12);
    }
  }

  rowOf(node) {
    const { rows, first_of_row: firsts, last_of_row: lasts } = this.data;
    const only = rows.indexOf(node);
    return only >= 0 ? only : firsts.findIndex((first, at) => first <= node && node <= lasts[at] && first.length === node.length);
  }

  drawAxes(context) {
    const { data, width, height } = this;
    context.font = "11px sans-serif";
    context.fillStyle = this.scale.quiet;
    context.textBaseline = "middle";
    context.textAlign = "right";
    const step = Math.max(1, Math.ceil(data.rows.length / (height / 15)));
    for (let row = 0; row < data.rows.length; row += step) {
      const label = data.per_row > 1 ? data.first_of_row[row] : data.rows[row];
      context.fillText(label.length > 16 ? `${label.slice(0, 15)}…` : label, LEFT - 8, Math.max(this.y(row + 0.5), 6), LEFT - 12);
    }
    context.textBaseline = "alphabetic";
    context.textAlign = "center";
    for (const { ms, label } of timeTicks(data.from, data.to, Math.min(10, this.across / TICK))) {
      context.fillRect(this.x(ms), height, 1, 4);
      context.fillText(label, Math.min(Math.max(this.x(ms), LEFT + 20), width - 30), height + 16);
    }
    context.textAlign = "left";
  }
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
