// What the agents of the job's nodes saw.
import { Stack } from "../../plots/stack.js";

const stack = new Stack(document.getElementById("stack"), document.getElementById("readout"));
document.addEventListener("job:refreshed", () => stack.start());
stack.start();
