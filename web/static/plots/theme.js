// What the reader's screen is like: dark or light, narrow or wide, finger or pointer.
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const narrow = window.matchMedia("(max-width: 700px)");
const coarse = window.matchMedia("(pointer: coarse)");

export const theme = () => (dark.matches ? "dark" : "light");
export const size = () => (narrow.matches ? "narrow" : "wide");
export const touches = () => coarse.matches;

/** Call `redraw` whenever the theme or the size changes. */
export function onChange(redraw) {
  dark.addEventListener("change", redraw);
  narrow.addEventListener("change", redraw);
}

/** The value of a colour of style.css, such as "--line". */
export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** Cividis, which people with any colour vision read alike: dark blue for little, yellow for much. */
export const HEAT = ["#00224e", "#123570", "#3b496c", "#575d6d", "#707173", "#8a8678", "#a59c74", "#c3b369", "#e1cc55", "#fee838"];

/** plotly.js without its own bar, tips and double click: the pages have their own. */
export const PLOTLY = { displayModeBar: false, doubleClick: false, responsive: true, showTips: false };
