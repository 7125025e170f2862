// The page "Decode in the browser". All text is set as text, never as markup; the page that `kwire explain --html`
// writes is shown in a frame that may run nothing but that page's own script.
const LIMIT = 1 << 24; // bytes of a file: the page made of them is about eight times as large
const MOST = 10_000; // frames: as many as `kwire explain --html` shows
const LONGEST = 1 << 21; // characters of text
const LARGEST = 1 << 26; // bytes of the page in the frame; of compressed files it can be any size
const EXAMPLE = `00000000  00 00 00 32 00 03 00 0d  00 00 00 02 00 0c 6c 61  |...2..........la|
00000010  62 2d 70 72 6f 64 75 63  65 72 00 02 00 00 00 00  |b-producer......|
00000020  00 00 00 00 00 00 00 00  00 00 00 00 06 66 6c 61  |.............fla|
00000030  6b 79 00 01 00 00                                 |ky....|`;
const root = document.getElementById("playground");
const base = new URL(root.dataset.base, location.href).href, runtime = `${base}runtime/`;

const make = (tag, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
};
const seconds = (since) => `${((performance.now() - since) / 1000).toFixed(1)} s`;
const size = (bytes) => bytes < 1 << 20 ? `${Math.ceil(bytes / 1024)} KiB` : `${(bytes / (1 << 20)).toFixed(1).replace(".0", "")} MiB`;
const button = (text, act, properties = {}) => {
  const made = make("button", { type: "button", textContent: text, className: "md-button", ...properties });
  made.addEventListener("click", act);
  return made;
};

// What is on the page.
const status = make("p", { className: "status", role: "status" });
const paste = make("textarea", { id: "paste", rows: 8, spellcheck: false, autocomplete: "off",
  placeholder: "Paste bytes here, or drop a file: a capture, a dump, hex text" });
const file = make("input", { type: "file", hidden: true });
const named = make("input", { type: "text", size: 16, placeholder: "Metadata:12", spellcheck: false });
const body = make("input", { type: "checkbox" }), secrets = make("input", { type: "checkbox" });
const go = button("Explain", () => pasted(), { className: "md-button md-button--primary" });
const stop = button("Stop", () => restart("stopped"), { hidden: true });
const views = { page: make("section", { className: "view" }), text: make("section", { className: "view" }) };
const tabs = {
  page: button("Fields and bytes", () => show("page"), { className: "tab" }),
  text: button("Text", () => show("text"), { className: "tab" }),
};
const bar = make("nav", { className: "tabs", hidden: true, ariaLabel: "Results" }, tabs.page, tabs.text);
const show = (name) => {
  for (const [other, view] of Object.entries(views)) {
    view.hidden = other !== name;
    tabs[other].ariaPressed = String(other === name);
  }
};
root.replaceChildren(
  status, make("label", { htmlFor: "paste", textContent: "Bytes" }), paste, file,
  make("div", { className: "row" }, go, stop, button("Choose a file", () => file.click()),
    button("Example", () => { paste.value = EXAMPLE; pasted(); })),
  make("div", { className: "row" },
    make("label", { title: "of a single response, or of a body: --as" }, "API:VERSION ", named),
    make("label", { title: "--body" }, body, " a body without size and header"),
    make("label", { title: "--show-secrets" }, secrets, " show secrets")),
  bar, views.page, views.text);

// The worker: Python, in which one file after the other is explained.
let worker = null, isReady = false, source = "", begin = 0, waiting = null, note = "", saved = "", loading = "", ticking = 0;
const say = (text, isError = false) => {
  status.textContent = text;
  status.classList.toggle("error", isError);
};
const restart = (why) => {
  worker?.terminate();
  clearInterval(ticking);
  Object.assign(stop, { hidden: true });
  isReady = false;
  begin = performance.now();
  say(`${why ? `${why}; ` : ""}loading Python and kwire ...`);
  worker = new Worker(source, { type: "module" });
  worker.addEventListener("message", ({ data }) => received[data.kind](data));
  worker.addEventListener("error", (event) => received.failed({ reason: event.message || "the worker did not start" }));
  worker.postMessage({ base: runtime });
};
const received = {
  ready({ bytes }) {
    isReady = true;
    const loaded = bytes ? `${(bytes / 1e6).toFixed(1)} MB` : "from the browser's cache";
    loading = `${root.dataset.version}, loaded in ${seconds(begin)} (${loaded})`;
    say(`Ready: ${loading}. What you paste or drop stays in this browser.`);
    if (waiting) send();
  },
  text(result) {
    fill(views.text, result, output(result));
    bar.hidden = false;
    show("text");
  },
  page(result) {
    stop.hidden = true;
    clearInterval(ticking);
    if (result.bytes) note = `the page would have ${size(result.bytes)}, too much for a browser: kwire browse shows all; `;
    say(`${note}${result.page || result.text ? "explained" : "read"} in ${seconds(begin)}; ${loading}`);
    if (saved) URL.revokeObjectURL(saved);
    saved = "";
    if (!result.page) return fill(views.page, result, output(result));
    saved = URL.createObjectURL(new Blob([result.page], { type: "text/html" }));
    const frame = make("iframe", { title: "Fields and bytes", srcdoc: result.page });
    frame.setAttribute("sandbox", "allow-scripts");
    fill(views.page, result, frame, make("p", {}, make("a", { href: saved, download: "kwire.html", textContent: "Save this page" })));
    show("page");
  },
  failed({ reason }) {
    if (isReady) restart(`kwire failed: ${reason}`);
    else say(`Python could not be started: ${reason}`, true);
  },
};
const output = ({ text }) => {
  const cut = text.length > LONGEST ? `${text.slice(0, LONGEST)}\n... (${text.length - LONGEST} more characters)` : text;
  return make("pre", { className: "output", textContent: cut, tabIndex: 0, hidden: !text });
};
const fill = (view, { command, remarks, code }, ...output) => {
  const printed = make("pre", { className: code === 2 ? "remarks error" : "remarks", textContent: remarks, hidden: !remarks });
  view.replaceChildren(make("pre", { className: "command", textContent: `$ ${command}` }), printed, ...output);
};

// What is explained: the text that was pasted, or a file.
const pasted = () => wanted("paste", new Blob([paste.value]));
const wanted = async (name, blob) => {
  const whole = blob.size, isCut = whole > LIMIT;
  note = isCut ? `${name} has ${size(whole)}: only the first ${size(LIMIT)} are read here, kwire browse shows all; ` : "";
  const options = [named.value.trim() && `--as=${named.value.trim()}`, body.checked && "--body", secrets.checked && "--show-secrets"];
  const data = await (isCut ? blob.slice(0, LIMIT) : blob).arrayBuffer();
  waiting = { name, data, options: options.filter(Boolean), most: MOST, largest: LARGEST };
  if (isReady) send();
};
const send = () => {
  begin = performance.now();
  const { name } = waiting;
  ticking = setInterval(() => say(`${note}reading ${name} ... ${seconds(begin)}`), 1000);
  say(`${note}reading ${name} ...`);
  stop.hidden = false;
  worker.postMessage(waiting, [waiting.data]);
  waiting = null;
};
const dropped = (files) => {
  if (files.length > 1) say("one file at a time; kwire decode takes several", true);
  else if (files.length) wanted(files[0].name, files[0]);
};
paste.addEventListener("paste", () => setTimeout(pasted)); // when the text is there
paste.addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) pasted(); });
file.addEventListener("change", () => { dropped(file.files); file.value = ""; });
for (const kind of ["dragenter", "dragover", "dragleave", "drop"]) document.addEventListener(kind, (event) => {
  if (!event.dataTransfer?.types.includes("Files")) return;
  event.preventDefault();
  root.classList.toggle("over", kind === "dragenter" || kind === "dragover");
  if (kind === "drop") dropped(event.dataTransfer.files);
});

// Begin, if there is something to run on.
const begun = async () => {
  if (location.protocol === "file:") throw new Error("This page needs a web server: python3 -m http.server -d dist/site");
  const answer = await fetch(`${runtime}runtime.json`);
  if (!answer.ok) throw new Error("This site was built without Python for this page: python3 dev.py docs --playground adds it.");
  const facts = await answer.json();
  root.dataset.version = `kwire ${facts.kwire} on Pyodide ${facts.pyodide}`;
  const script = await (await fetch(`${base}worker.js`)).blob();
  source = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
  const linked = new URLSearchParams(location.hash.slice(1)); // #hex=..&as=Metadata:12&body=1, as in the message reference
  if (linked.has("hex")) {
    [paste.value, named.value, body.checked] = [linked.get("hex"), linked.get("as") ?? "", linked.has("body")];
    pasted();
  }
  restart("");
};
begun().catch((error) => {
  say(error.message, true);
  for (const control of root.querySelectorAll("button, input, textarea")) control.disabled = true;
});
