// One crosshair over all plots of a figure: the pointer, a finger or the arrow keys lead it, every name shows its value.
import { interval, milliseconds, reading, slices } from "./formats.js";
import { valueAt } from "./steps.js";
import { touches } from "./theme.js";

export class Crosshair {
  /** drawing: plotly.js's element. stack: what holds it and the headings. readout: where the slice is named. */
  constructor(drawing, stack, readout) {
    Object.assign(this, { drawing, stack, readout, points: null, current: -1 });
    this.idle = touches() ? "Touch a plot to read all of them. Zoom with + and −." : readout.textContent;
    // plotly.js does not hover under a finger, so the crosshair is led there.
    const follow = (event) => event.pointerType === "touch" && this.follow(event.clientX);
    drawing.addEventListener("pointerdown", follow, { capture: true });
    drawing.addEventListener("pointermove", follow, { capture: true });
  }

  /** Listen to plotly.js, once there is a drawing. */
  attach() {
    this.drawing.on("plotly_hover", (event) => this.read(this.pointAt(milliseconds(event.points[0].x))));
    this.drawing.on("plotly_unhover", () => this.forget());
  }

  /** The moment in ms under the crosshair, or undefined. */
  get moment() {
    const { first_ms, slice_ms, width } = this.points;
    return this.current < 0 ? undefined : first_ms + (this.current + 0.5) * width * slice_ms;
  }

  /** The point that holds a moment. */
  pointAt(moment) {
    const { first_ms, slice_ms, width, count } = this.points;
    return Math.min(Math.max(Math.floor((moment - first_ms) / (width * slice_ms)), 0), count - 1);
  }

  read(index) {
    this.current = index;
    const { first_ms, slice_ms, width, first_slice, n_slices } = this.points;
    const first = index * width;
    const count = Math.min(width, n_slices - first);
    const begin = first_ms + first * slice_ms;
    this.readout.textContent = `${interval(begin, begin + count * slice_ms)}, ${slices(first_slice + first, count)}`;
    for (const output of this.stack.querySelectorAll("output[data-trace]")) {
      const trace = this.drawing.data[output.dataset.trace];
      output.textContent = reading(valueAt(trace, index), output.dataset.unit);
    }
  }

  forget() {
    this.current = -1;
    this.readout.textContent = this.idle;
    for (const output of this.stack.querySelectorAll("output[data-trace]")) {
      output.textContent = "";
    }
  }

  leave() {
    Plotly.Fx.unhover(this.drawing);
    this.forget();
  }

  moveTo(index) {
    const bounded = Math.min(Math.max(index, 0), this.points.count - 1);
    this.current = bounded;
    Plotly.Fx.hover(this.drawing, { xval: this.moment }, ["xy"]);
    this.read(bounded);
  }

  /** One point on, from the side that is entered. */
  step(by) {
    this.moveTo(this.current < 0 ? (by < 0 ? this.points.count - 1 : 0) : this.current + by);
  }

  follow(x) {
    const moment = momentAt(this.drawing, x);
    if (moment !== null && this.points) {
      this.moveTo(this.pointAt(moment));
    }
  }
}

/** The time in ms at a place of the page, by the x axis of a drawing; null where nothing is drawn. */
export function momentAt(drawing, x) {
  const area = drawing.querySelector(".nsewdrag");
  if (!area) {
    return null;
  }
  const { left, width } = area.getBoundingClientRect();
  const axis = drawing._fullLayout.xaxis;
  const [begin, end] = axis.range.map((edge) => axis.r2l(edge));
  return begin + ((x - left) / width) * (end - begin);
}
