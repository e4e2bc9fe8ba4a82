// One zoom: a range of time that the address holds, buttons and keys change, and the back button undoes.
import { keepInLinks, setParameters, zoomOfAddress } from "./address.js";

const LEAST_MS = 2; // nothing is seen below

export class Zoom {
  /** whole: [from, to] in ms of everything there is. changed(range): called with each new range. */
  constructor(whole, changed) {
    this.whole = whole;
    this.changed = changed;
    this.range = this.bounded(zoomOfAddress() || whole);
    window.addEventListener("popstate", () => this.show(this.bounded(zoomOfAddress() || this.whole)));
    for (const button of document.querySelectorAll("[data-zoom]")) {
      button.addEventListener("click", () => this.by(button.dataset.zoom));
    }
  }

  get isWhole() {
    return this.range[0] <= this.whole[0] && this.range[1] >= this.whole[1];
  }

  /** More has been measured: the whole grows, and so does the range of who sees all of it. */
  grow(whole) {
    const all = this.isWhole;
    this.whole = whole;
    if (all) {
      this.range = whole.slice();
    }
  }

  bounded([from, to]) {
    const [first, last] = this.whole;
    return from < last && to > first ? [Math.max(from, first), Math.min(to, last)] : this.whole.slice();
  }

  /** Show a range, and remember it in the address. */
  set(range) {
    const [from, to] = this.bounded(range.map(Math.round));
    if (to - from < LEAST_MS) {
      return;
    }
    this.show([from, to]);
    setParameters(this.isWhole ? { from: null, to: null } : { from: Math.round(from), to: Math.round(to) });
  }

  show(range) {
    this.range = range;
    keepInLinks();
    this.changed(range);
  }

  /** "in", "out" or "reset"; around a moment, by default the middle. */
  by(how, moment) {
    if (how === "reset") {
      this.set(this.whole);
      return;
    }
    const [from, to] = this.range;
    const middle = moment ?? (from + to) / 2;
    const half = ((to - from) * (how === "in" ? 0.5 : 2)) / 2;
    this.set([middle - half, middle + half]);
  }
}
