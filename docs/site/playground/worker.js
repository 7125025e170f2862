// Runs kwire on Pyodide, away from the page, so that the page answers while a capture is read. The page makes this
// worker from a blob: a blob has the page's Content-Security-Policy, so neither it nor Python in it reaches another origin.
const INPUT = "/input", PACKAGES = "/packages", PAGE = "/page.html";
const WARM = "00000010 0012 0000 0000002a 00056b77697265 00"; // any frame: what a first one imports takes a second
let pyodide, kwire;

const start = async (base) => {
  const packages = fetch(`${base}packages.zip`).then((answer) => {
    if (!answer.ok) throw new Error(`${answer.status} ${answer.statusText}: packages.zip`);
    return answer.arrayBuffer();
  });
  const { loadPyodide } = await import(`${base}pyodide.mjs`);
  pyodide = await loadPyodide({ indexURL: base, env: { HOME: INPUT, PYTHONPATH: PACKAGES } }); // HOME: where it works
  pyodide.unpackArchive(await packages, "zip", { extractDir: PACKAGES });
  pyodide.pyimport("importlib").invalidate_caches(); // Python looked there when there was nothing
  kwire = pyodide.pyimport("kwire_page");
  run(["explain", "--html", "-o", PAGE, "--hex", WARM]);
  pyodide.FS.unlink(PAGE);
  const loaded = performance.getEntriesByType("resource");
  postMessage({ kind: "ready", bytes: loaded.reduce((sum, entry) => sum + entry.transferSize, 0) });
};

const run = (words) => {
  const given = pyodide.toPy(words), answer = kwire.run(given);
  const [code, text, remarks] = answer.toJs();
  given.destroy();
  answer.destroy();
  const quoted = words.map((word) => /^[\w.,:=+\/-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);
  return { code, text, remarks, command: ["kwire", ...quoted].join(" ").replace(` ${PAGE}`, " page.html") };
};

const sizeOf = (path) => pyodide.FS.analyzePath(path).exists ? pyodide.FS.stat(path).size : null;

const explain = ({ name, data, options, most, largest }) => {
  const file = name.startsWith("-") ? `./${name}` : name, path = `${INPUT}/${name}`;
  pyodide.FS.writeFile(path, new Uint8Array(data));
  try {
    const lines = run(["decode", ...options, `--first=${most}`, file]);
    postMessage({ kind: "text", ...lines });
    const made = run(["explain", "--html", ...options, "-o", PAGE, file]), bytes = sizeOf(PAGE);
    if (bytes === null && lines.code !== 2) postMessage({ kind: "page", ...run(["explain", ...options, file]), page: "" }); // a log
    else if (bytes > largest) postMessage({ kind: "page", ...made, page: "", bytes });
    else postMessage({ kind: "page", ...made, page: bytes ? pyodide.FS.readFile(PAGE, { encoding: "utf8" }) : "" });
  } finally {
    for (const left of [path, PAGE]) if (sizeOf(left) !== null) pyodide.FS.unlink(left);
  }
};

onmessage = async ({ data }) => {
  try {
    if (data.base) await start(data.base);
    else explain(data);
  } catch (error) {
    postMessage({ kind: "failed", reason: String(error.message ?? error).trim().split("\n").pop() });
  }
};
