// A page with boards of charts and nothing else that moves.

import { startBoards } from "./panels.js";

await startBoards();
