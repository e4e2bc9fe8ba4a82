// The state of a page lives in its address: what a link shows is what its sender saw.
const COALESCE_MS = 1200; // changes that follow one another so closely are one step for the back button
let pushed = 0;

export const parameter = (name) => new URL(window.location).searchParams.get(name);

/** Set parameters (null: take away) as a step of the history that the back button undoes. */
export function setParameters(changes) {
  const address = new URL(window.location);
  apply(address, changes);
  if (address.href === window.location.href) {
    return;
  }
  const now = Date.now();
  window.history[now - pushed < COALESCE_MS ? "replaceState" : "pushState"](null, "", address);
  pushed = now;
  keepInLinks();
}

function apply(address, changes) {
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) {
      address.searchParams.delete(name);
    } else {
      address.searchParams.set(name, value);
    }
  }
}

/** The zoom of the address as [from, to] in UTC ms, or null. */
export function zoomOfAddress() {
  const [from, to] = ["from", "to"].map((name) => Number(parameter(name) ?? NaN));
  return from < to ? [from, to] : null;
}

/** Links marked data-keep-zoom lead to where they did, with the zoom of this page. */
export function keepInLinks() {
  for (const link of document.querySelectorAll("a[data-keep-zoom]")) {
    const address = new URL(link.href);
    apply(address, { from: parameter("from"), to: parameter("to") });
    link.href = address;
  }
}
