// What stands around the grid, such as the tables of jobs and events, belongs to the time that the address tells. When
// that changes, the page of the new address is fetched and the parts marked data-follows are taken from it.

/** Take over the parts of the page at this address. Throws what fetch throws; aborted with the signal. */
export async function follow(address, signal) {
  const answer = await fetch(address, { signal });
  if (!answer.ok) {
    throw new Error(`the server answered ${answer.status}`);
  }
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  const focused = document.activeElement?.closest("[data-follows]") && document.activeElement.name;
  for (const part of document.querySelectorAll("[data-follows]")) {
    const other = fresh.querySelector(`[data-follows="${part.dataset.follows}"]`);
    if (other) {
      part.replaceChildren(...other.childNodes);
    }
  }
  if (focused) {
    document.querySelector(`[data-follows] [name="${CSS.escape(focused)}"]`)?.focus();
  }
}
