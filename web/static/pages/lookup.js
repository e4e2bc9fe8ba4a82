// The picture of a lookup, the way from a stretch of it to a lookup of that stretch, and the other side.
import { PLOTLY, onChange, size, theme } from "../plots/theme.js";
import { element } from "../plots/headings.js";
import { milliseconds } from "../plots/formats.js";
import { toTheEdges } from "../plots/steps.js";

class Picture {
  constructor(holder, link) {
    Object.assign(this, { holder, link, asked: 0 });
    this.drawing = element("div", "drawing");
    onChange(() => this.draw());
  }

  async draw() {
    const asked = ++this.asked;
    try {
      const figure = await this.fetch();
      if (asked === this.asked) {
        await this.show(figure);
      }
    } catch (error) {
      this.holder.replaceChildren(element("p", "quiet", `The picture could not be loaded: ${error.message}. Reload the page to try again.`));
      this.holder.dataset.state = "failed";
    }
  }

  async fetch() {
    const address = new URL(this.holder.dataset.figure, window.location);
    address.searchParams.set("theme", theme());
    address.searchParams.set("size", size());
    const answer = await fetch(address);
    if (!answer.ok) {
      throw new Error(`the server answered ${answer.status}`);
    }
    return answer.json();
  }

  async show({ data, layout }) {
    if (data.length === 0) {
      this.holder.replaceChildren(element("p", "quiet", "There is nothing to draw."));
      this.holder.dataset.state = "empty";
      return;
    }
    const first = !this.holder.contains(this.drawing);
    if (first) {
      this.holder.replaceChildren(this.drawing);
    }
    await Plotly.react(this.drawing, data.map(toTheEdges), layout, { ...PLOTLY, doubleClick: "reset" });
    if (first) {
      this.drawing.on("plotly_relayout", (change) => this.chosen(change));
    }
    this.holder.dataset.state = "drawn";
  }

  /** A stretch was dragged over: a link looks it up. */
  chosen(change) {
    const range = change["xaxis.range"] || [change["xaxis.range[0]"], change["xaxis.range[1]"]];
    this.link.hidden = range[0] === undefined;
    if (!this.link.hidden) {
      const address = new URL(this.link.dataset.address, window.location);
      address.searchParams.set("from", Math.floor(milliseconds(range[0])));
      address.searchParams.set("to", Math.ceil(milliseconds(range[1])));
      this.link.href = address;
    }
  }
}

async function otherSide(holder) {
  try {
    const answer = await fetch(holder.dataset.address);
    if (!answer.ok) {
      throw new Error(`the server answered ${answer.status}`);
    }
    const found = await answer.json();
    const rows = found.jobs.map((job) => {
      const link = element("a", "", `Job ${job.name}`);
      link.href = holder.dataset.job.replace("/0/", `/${job.job_key}/`);
      return element("li", "", link, ` (${job.user}, ${job.command}): ${Math.round(100 * job.effect)} % of its lost time went with ${job.words}`);
    });
    holder.replaceChildren(element("p", "", found.sentence), ...(rows.length ? [element("ul", "", ...rows)] : []));
    holder.dataset.state = "shown";
  } catch (error) {
    holder.replaceChildren(element("p", "quiet", `This could not be tested: ${error.message}. Reload the page to try again.`));
    holder.dataset.state = "failed";
  }
}

const picture = document.getElementById("picture");
if (picture) {
  new Picture(picture, document.getElementById("stretch")).draw();
}
const other = document.getElementById("other-side");
if (other) {
  otherSide(other);
}
