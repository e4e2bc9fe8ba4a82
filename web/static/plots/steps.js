// Step lines change between two points, so a line would begin and end half a slice late.

/** A step line with its first and last value once more outside of the axis; every other trace as it is. */
export function toTheEdges(trace) {
  if (trace.line?.shape !== "hvh") {
    return trace;
  }
  return { ...trace, x0: trace.x0 - trace.dx, y: [trace.y[0], ...trace.y, trace.y.at(-1)], meta: { ...trace.meta, added: 1 } };
}

/** The value of a drawn trace at a point of the figure, counted from 0. */
export const valueAt = (trace, index) => trace?.y[index + (trace.meta.added ?? 0)];
