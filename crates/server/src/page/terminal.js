// An agent's terminal, drawn by xterm.js. It is looked at and not typed into.
//
// Output that only adds lines is wrapped at the width of this screen, as wide as that may be. The first sequence that moves
// about on the screen makes it the agent's own size instead, with letters as small as that takes.

import { Terminal } from "./xterm.mjs";
import { withoutInlineStyles } from "./styles.js";

const LARGE = matchMedia("(min-width: 900px)");
const DARK = matchMedia("(prefers-color-scheme: dark)");
const SMALLEST = 7;
const LEGIBLE = 9;
// Height of a line, in letters.
const LINE = 1.15 * 1.2;
const FONT = 'ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace';
// Of what was written, so much is kept to draw it anew at another size.
const KEPT_BYTES = 2 << 20;
const AGENTS_OWN = { cols: 120, rows: 40 };

// Up, to a place, to a row, erase in the display, the other screen.
const MOVES = /\x1b\[[0-9;]*[AHfJd]|\x1b\[\?(?:1049|1047|47)h/;

const COLOURS = {
  dark: {
    background: "#0d1014", foreground: "#dfe3e8", cursor: "#0d1014", selectionBackground: "#2f4f6f",
    black: "#3b4048", red: "#f47067", green: "#57c27d", yellow: "#e0b050", blue: "#6cb6ff", magenta: "#c99cf0", cyan: "#4fc4cf", white: "#c9d1d9",
    brightBlack: "#8b949e", brightRed: "#ff938a", brightGreen: "#7ee2a0", brightYellow: "#f0cb75", brightBlue: "#96d0ff", brightMagenta: "#dcbdfb", brightCyan: "#76e3ea", brightWhite: "#ffffff",
  },
  light: {
    background: "#fbfbfa", foreground: "#24292f", cursor: "#fbfbfa", selectionBackground: "#b6d7ff",
    black: "#24292f", red: "#b42318", green: "#116329", yellow: "#7d4e00", blue: "#0550ae", magenta: "#7a36b5", cyan: "#1b6f7a", white: "#57606a",
    brightBlack: "#57606a", brightRed: "#a40e26", brightGreen: "#1a7f37", brightYellow: "#633c01", brightBlue: "#0969da", brightMagenta: "#8250df", brightCyan: "#3192aa", brightWhite: "#1b1f24",
  },
};

export function terminal(element) {
  withoutInlineStyles();
  const term = new Terminal({
    disableStdin: true,
    cursorBlink: false,
    cursorInactiveStyle: "none",
    convertEol: false,
    fontFamily: FONT,
    fontSize: 12,
    lineHeight: 1.15,
    scrollback: 5_000,
    minimumContrastRatio: 4.5,
    screenReaderMode: true,
    logLevel: "off",
    // What an agent writes is not followed anywhere.
    linkHandler: { activate: () => {} },
    theme: DARK.matches ? COLOURS.dark : COLOURS.light,
  });
  // Keys leave it as they would leave any other part of the page.
  term.attachCustomKeyEventHandler((event) => ["PageUp", "PageDown", "Home", "End"].includes(event.key));
  term.open(element);

  const decoder = new TextDecoder();
  let own = AGENTS_OWN;
  let moves = false;
  let kept = [];
  let keptBytes = 0;
  let tail = "";

  const fit = () => {
    const style = getComputedStyle(element);
    const room = element.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight) - 14;
    const height = element.clientHeight - parseFloat(style.paddingTop) - parseFloat(style.paddingBottom);
    if (room <= 0 || height <= 0) return;
    const perPoint = letterWidth();
    const usual = LARGE.matches ? 13 : 12;
    if (moves) {
      const half = (size) => Math.floor(size * 2) / 2;
      const wide = Math.max(SMALLEST, Math.min(usual, half(room / own.cols / perPoint)));
      // All of its rows, too, where that leaves something to read.
      term.options.fontSize = Math.max(Math.min(wide, LEGIBLE), Math.min(wide, half(height / own.rows / LINE)));
      resize(own.cols, own.rows);
    } else {
      term.options.fontSize = usual;
      resize(Math.max(20, Math.floor(room / (usual * perPoint))), Math.max(6, Math.floor(height / Math.ceil(usual * LINE))));
    }
  };
  const resize = (cols, rows) => {
    if (cols !== term.cols || rows !== term.rows) term.resize(cols, rows);
  };
  const anew = () => {
    term.reset();
    fit();
    kept.forEach((bytes) => term.write(bytes));
  };

  // xterm.js scrolls by wheel and by keys, and not by touch. What is drawn at the agent's size is panned like any large thing.
  let touched = 0;
  let rest = 0;
  element.addEventListener("touchstart", ({ touches }) => {
    touched = touches[0].clientY;
    rest = 0;
  }, { passive: true });
  element.addEventListener("touchmove", (event) => {
    const { viewportY, baseY } = term.buffer.active;
    const moved = touched - event.touches[0].clientY;
    if (moves || event.touches.length > 1 || (moved < 0 ? viewportY === 0 : viewportY === baseY)) return;
    event.preventDefault();
    touched -= moved;
    rest += moved;
    const lines = Math.trunc(rest / (term.element.clientHeight / term.rows));
    rest -= lines * (term.element.clientHeight / term.rows);
    term.scrollLines(lines);
  }, { passive: false });

  const seen = new ResizeObserver(fit);
  seen.observe(element);
  const recolour = () => {
    term.options.theme = DARK.matches ? COLOURS.dark : COLOURS.light;
  };
  DARK.addEventListener("change", recolour);
  fit();

  return {
    write(bytes) {
      kept.push(bytes);
      keptBytes += bytes.length;
      while (keptBytes > KEPT_BYTES && kept.length > 1) keptBytes -= kept.shift().length;
      if (!moves) {
        // A sequence may be cut between two pieces.
        const text = tail + decoder.decode(bytes, { stream: true });
        tail = text.slice(-16);
        if (MOVES.test(text)) {
          moves = true;
          return anew();
        }
      }
      term.write(bytes);
    },
    // The size of the agent's terminal.
    resized(size) {
      own = size;
      if (moves) fit();
    },
    note(text) {
      term.write(`\r\n\x1b[2m[${text}]\x1b[0m\r\n`);
    },
    clear() {
      kept = [];
      keptBytes = 0;
      moves = false;
      tail = "";
      term.reset();
      fit();
    },
    fit,
    close() {
      seen.disconnect();
      DARK.removeEventListener("change", recolour);
      term.dispose();
    },
  };
}

// Width of a letter in a font of one pixel.
let width;
function letterWidth() {
  if (width === undefined) {
    const context = document.createElement("canvas").getContext("2d");
    context.font = `100px ${FONT}`;
    width = context.measureText("W".repeat(10)).width / 1_000;
  }
  return width;
}
