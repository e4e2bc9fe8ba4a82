// Numbers and times as the pages write them.
const local = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });

/** Three digits, or whole from a hundred on. */
export function digits(value) {
  if (value !== 0 && Math.abs(value) < 0.001) {
    return "< 0.001";
  }
  return Math.abs(value) >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3)));
}

/** A value with its unit; a gap says so. */
export const reading = (value, unit) => (value === null || value === undefined || Number.isNaN(value) ? "no data" : `${digits(value)} ${unit}`);

/** Day and time in UTC; with milliseconds where there are any, as of slices shorter than a second. */
const written = (ms) => {
  const [day, clock] = new Date(ms).toISOString().split("T");
  return [day, clock.replace(/(\.000)?Z$/, "")];
};

/** "2025-10-09 08:53:20 – 08:53:24 UTC (10:53:20 local)". */
export function interval(beginMs, endMs) {
  const begin = new Date(beginMs);
  const here = begin.getTimezoneOffset() === 0 ? "" : ` (${local.format(begin)} local)`;
  const [day, clock] = written(beginMs);
  const [endDay, endClock] = written(endMs);
  return `${day} ${clock} – ${endDay === day ? "" : `${endDay} `}${endClock} UTC${here}`;
}

/** "slice 7" or "slices 7 to 9". */
export const slices = (first, count) => (count <= 1 ? `slice ${first}` : `slices ${first} to ${first + count - 1}`);

/** plotly.js gives the edge of a date axis as a number or as text without a zone. */
export const milliseconds = (edge) => (typeof edge === "number" ? edge : Date.parse(`${String(edge).replace(" ", "T")}Z`));
