// A step line changes between two points, so where values begin and end, at the edges of the axis and at gaps, it would
// be half a slice short.

const HALF = 0.499; // of a slice: a hair inside of it, so that the edge is still of that slice

/** A step line that reaches the edges of its first and last slices, also beside gaps; every other trace as it is. */
export function toTheEdges(trace) {
  if (trace.line?.shape !== "hvh") {
    return trace;
  }
  const { x0, dx, ...rest } = trace;
  const values = trace.y;
  const x = [], y = [], added = [];
  const put = (at, value, isAdded) => {
    x.push(x0 + at * dx);
    y.push(value);
    added.push(isAdded);
  };
  const isGap = (at) => (values[at] ?? null) === null;
  values.forEach((value, at) => {
    if (!isGap(at) && isGap(at - 1)) {
      put(at - HALF, value, true);
    }
    put(at, value, false);
    if (!isGap(at) && isGap(at + 1)) {
      put(at + HALF, value, true);
    }
  });
  const marker = trace.marker && { ...trace.marker, size: added.map((one) => (one ? 0 : trace.marker.size)) };
  return { ...rest, x, y, ...(marker && { marker }), meta: { ...trace.meta, values } };
}

/** The value of a drawn trace at a point of the figure, counted from 0. */
export const valueAt = (trace, index) => (trace?.meta.values ?? trace?.y)?.[index];
