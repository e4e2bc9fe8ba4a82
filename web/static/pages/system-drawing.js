// What the page of the system draws with: the scale of colours, ticks of time, and the plots below the grid.

import { element } from "../plots/headings.js";

const STOPS = {
  // From little to much; each set reads without telling red from green, and rises evenly in lightness.
  light: ["#e4ebef", "#c7e3c4", "#7fcdbb", "#41b6c4", "#1d7fb5", "#24509b", "#0c2c6e"],
  dark: ["#2a343c", "#2b3f73", "#2566a3", "#2a93b5", "#5dbfae", "#b4e0a8", "#fff3b8"],
};
const LINES = {
  light: ["#0072B2", "#D55E00", "#009E73", "#8A6D00", "#9A4FA3", "#5B5B5B"],
  dark: ["#56B4E9", "#FF8A3D", "#2FC79A", "#F0E442", "#D7A3E0", "#B5BEC6"],
};
const DASHES = [[], [6, 3], [2, 2], [8, 3, 2, 3], [10, 4], [4, 4]];

/** Colours of one theme. A shade is 0 (nothing ran) to 255 (as much as the scale tells). */
export class Scale {
  constructor(isDark) {
    const theme = isDark ? "dark" : "light";
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    this.stops = STOPS[theme].map((hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)));
    this.lines = LINES[theme];
    this.ink = colour("--ink");
    this.quiet = colour("--quiet");
    this.line = colour("--line");
    this.accent = isDark ? "#ffffff" : "#000000";
    this.outline = isDark ? "rgb(228 234 238 / 45%)" : "rgb(27 36 43 / 45%)";
    this.selection = isDark ? "rgb(124 196 240 / 25%)" : "rgb(0 99 160 / 18%)";
    this.event = isDark ? "#ff9a5c" : "#a83f00";
    this.eventWash = isDark ? "rgb(255 154 92 / 22%)" : "rgb(213 94 0 / 16%)";
    this.words = Uint32Array.from({ length: 256 }, (_, shade) => {
      const [red, green, blue] = this.rgb(shade);
      return shade === 0 ? 0 : ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
    });
  }

  rgb(shade) {
    const at = (Math.max(shade - 1, 0) / 254) * (this.stops.length - 1);
    const low = this.stops[Math.floor(at)];
    const high = this.stops[Math.min(Math.floor(at) + 1, this.stops.length - 1)];
    return low.map((value, i) => Math.round(value + (high[i] - value) * (at % 1)));
  }

  css(shade) {
    return `rgb(${this.rgb(shade).join(" ")})`;
  }

  word(shade) {
    return this.words[shade];
  }
}

/** Ticks at round times, at most so many. */
export function timeTicks(from, to, most) {
  const steps = [5, 10, 30, 60, 300, 600, 1800, 3600, 7200, 10800, 21600, 43200, 86400].map((s) => s * 1000);
  const step = steps.find((length) => (to - from) / length <= most) || 86_400_000;
  const ticks = [];
  for (let ms = Math.ceil(from / step) * step; ms < to; ms += step) {
    const text = new Date(ms).toISOString();
    const isMidnight = ms % 86_400_000 === 0;
    ticks.push({ ms, label: isMidnight ? text.slice(5, 10) : step < 60_000 ? text.slice(11, 19) : text.slice(11, 16) });
  }
  return ticks;
}

/** One shared resource over the time of the grid. */
export class Panel {
  constructor(panel, grid, { width, left, right }, scale) {
    this.height = 74;
    Object.assign(this, { panel, grid, width, left, right, scale });
    this.names = Object.keys(panel.lines);
    this.top = Math.max(...this.names.flatMap((name) => panel.lines[name][1].map((value) => value ?? 0)), 1e-12);
    this.canvas = document.createElement("canvas");
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = width * ratio;
    this.canvas.height = this.height * ratio;
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${this.height}px`;
    this.canvas.getContext("2d").scale(ratio, ratio);
    this.figure = element("figure", "panel");
    this.figure.append(this.caption(), this.canvas);
  }

  caption() {
    const caption = element("figcaption", "");
    const title = element("b", "", this.panel.title);
    this.outputs = this.names.map((name, i) => {
      const entry = element("span", "panel-entry");
      const swatch = element("canvas", "panel-swatch");
      swatch.width = 22;
      swatch.height = 4;
      const context = swatch.getContext("2d");
      context.setLineDash(DASHES[i % DASHES.length]);
      context.lineWidth = 2;
      context.strokeStyle = this.scale.lines[i % this.scale.lines.length];
      context.beginPath();
      context.moveTo(0, 2);
      context.lineTo(22, 2);
      context.stroke();
      const output = element("output", "");
      entry.append(swatch, element("span", "", name), output);
      caption.append(entry);
      return output;
    });
    caption.prepend(title);
    return caption;
  }

  x(share) {
    return this.left + share * (this.width - this.left - this.right);
  }

  y(value) {
    return 6 + (1 - value / this.top) * (this.height - 14);
  }

  /** at: share of the time at which to read the lines, or null. */
  draw(at) {
    const context = this.canvas.getContext("2d");
    context.clearRect(0, 0, this.width, this.height);
    context.fillStyle = this.scale.line;
    context.fillRect(this.left, this.y(0), this.width - this.left - this.right, 1);
    context.fillStyle = this.scale.quiet;
    context.font = "11px sans-serif";
    context.textAlign = "right";
    context.fillText(`${Number(this.top.toPrecision(2))} ${this.panel.unit}`, this.left - 8, 14, this.left - 10);
    context.fillText("0", this.left - 8, this.y(0) + 3);
    this.names.forEach((name, i) => this.drawLine(context, this.panel.lines[name], i));
    if (at !== null) {
      context.fillStyle = this.scale.ink;
      context.fillRect(this.x(at), 0, 1, this.height);
    }
    this.names.forEach((name, i) => {
      const means = this.panel.lines[name][0];
      const value = at === null ? "" : means[Math.min(Math.floor(at * means.length), means.length - 1)];
      this.outputs[i].textContent = at === null ? "" : value === null ? "withheld" : `${Number(value.toPrecision(3))} ${this.panel.unit}`;
    });
  }

  drawLine(context, [means, highs], number) {
    const colour = this.scale.lines[number % this.scale.lines.length];
    const at = (i) => this.x((i + 0.5) / means.length);
    context.globalAlpha = 0.2;
    context.fillStyle = colour;
    const width = Math.max(1, this.x(1 / means.length) - this.x(0));
    means.forEach((mean, i) => {
      if (mean !== null && highs[i] > mean) {
        context.fillRect(at(i) - width / 2, this.y(highs[i]), width, this.y(mean) - this.y(highs[i]));
      }
    });
    context.globalAlpha = 1;
    context.strokeStyle = colour;
    context.lineWidth = 1.5;
    context.setLineDash(DASHES[number % DASHES.length]);
    context.beginPath();
    let isDrawing = false;
    means.forEach((mean, i) => {
      if (mean === null) {
        isDrawing = false;
      } else if (isDrawing) {
        context.lineTo(at(i), this.y(mean));
      } else {
        context.moveTo(at(i), this.y(mean));
        isDrawing = true;
      }
    });
    context.stroke();
    context.setLineDash([]);
  }
}
