"use strict";
// The page of `kwire explain --html`. Data becomes text nodes only, never markup. Both panes draw
// only the rows that are in sight, so that a frame of megabytes opens at once.
(() => {
  const FRAMES = 200; // on one page
  const OVERSCAN = 6;
  const narrow = matchMedia("(max-width: 720px)");
  let ids = 0;

  const make = (tag, name, text) => {
    const element = document.createElement(tag);
    if (name) element.className = name;
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const hex = (number, width) => number.toString(16).padStart(width, "0");

  class Rows {
    // A list of rows of equal height, of which those in sight exist.
    constructor(pane, draw, drawn) {
      Object.assign(this, { pane, draw, drawn, count: 0 });
      this.sizer = make("div", "sizer");
      this.inner = make("div", "inner");
      this.sizer.append(this.inner);
      pane.append(this.sizer);
      pane.addEventListener("scroll", () => this.show());
    }
    get height() {
      return parseFloat(getComputedStyle(this.pane).lineHeight);
    }
    resize(count) {
      this.count = count;
      this.sizer.style.height = `${count * this.height}px`;
      this.show(true);
    }
    show(anew = false) {
      const height = this.height;
      const first = Math.max(0, Math.floor(this.pane.scrollTop / height) - OVERSCAN);
      const last = Math.min(this.count, Math.ceil((this.pane.scrollTop + this.pane.clientHeight) / height) + OVERSCAN);
      if (!anew && first === this.first && last === this.last) return;
      Object.assign(this, { first, last });
      const rows = [];
      for (let index = first; index < last; index++) rows.push(this.draw(index));
      this.inner.style.top = `${first * height}px`;
      this.inner.replaceChildren(...rows);
      this.drawn();
    }
    reveal(index) {
      const height = this.height, top = index * height, { scrollTop, clientHeight } = this.pane;
      if (top < scrollTop) this.pane.scrollTop = top;
      else if (top + height > scrollTop + clientHeight) this.pane.scrollTop = top + height - clientHeight;
      this.show();
    }
  }

  class View {
    constructor(frame, data) {
      this.bytes = Uint8Array.from(atob(data.bytes), (character) => character.charCodeAt(0));
      this.hidden = data.hidden;
      this.id = `view${ids++}`;
      this.read(data.nodes);
      this.kept = this.hot = -1;
      this.build(frame, data.errors);
      this.tree = new Rows(this.fields, (row) => this.drawField(row), () => this.paint());
      this.grid = new Rows(this.dump, (row) => this.drawBytes(row), () => this.paint());
      this.layout();
    }
    read(rows) {
      const above = [];
      this.nodes = rows.map(([depth, name, start, stop, type, value, faults], index) => {
        above.length = depth;
        const parent = depth ? above[depth - 1] : -1;
        above.push(index);
        return { depth, name, start, stop: Math.min(stop, this.bytes.length), type, value, faults, parent,
                 end: rows.length, isOpen: true, isParent: false };
      });
      const open = [];
      this.nodes.forEach((node, index) => {
        while (open.length && this.nodes[open.at(-1)].depth >= node.depth) this.nodes[open.pop()].end = index;
        open.push(index);
        if (node.parent >= 0) this.nodes[node.parent].isParent = true;
      });
      if (rows.length > 400) for (const node of this.nodes) node.isOpen = node.depth < 1;
      this.owners = this.nodes.map((_, index) => index).filter((i) => this.nodes[i].stop > this.nodes[i].start);
    }
    build(frame, errors) {
      const view = make("div", "view");
      for (const error of errors) frame.append(make("p", "error", error));
      this.fields = make("div", "pane fields");
      this.fields.setAttribute("role", "tree");
      this.fields.setAttribute("aria-label", "Fields");
      this.dump = make("div", "pane dump");
      this.dump.setAttribute("role", "group");
      this.dump.setAttribute("aria-label", "Bytes; arrow keys move");
      this.status = make("p", "status", "\u00a0");
      this.status.setAttribute("aria-live", "polite");
      view.append(this.fields, this.dump, this.status);
      frame.append(view);
      const records = frame.querySelector("pre.records");
      if (records) frame.append(records);
      for (const pane of [this.fields, this.dump]) {
        pane.tabIndex = 0;
        pane.addEventListener("mouseover", (event) => this.point(event, pane));
        pane.addEventListener("mouseleave", () => this.light(this.kept, null));
        pane.addEventListener("click", (event) => this.keep(event, pane));
      }
      this.fields.addEventListener("keydown", (event) => this.fieldKey(event));
      this.dump.addEventListener("keydown", (event) => this.byteKey(event));
    }
    layout() {
      this.wide = narrow.matches ? 8 : 16;
      this.visible = this.visibleNodes();
      this.tree.resize(this.visible.length);
      this.grid.resize(Math.ceil(this.bytes.length / this.wide));
    }
    visibleNodes() {
      const found = [];
      for (let i = 0; i < this.nodes.length; i = this.nodes[i].isOpen ? i + 1 : this.nodes[i].end) found.push(i);
      return found;
    }

    // Drawing.
    drawField(row) {
      const index = this.visible[row], node = this.nodes[index];
      const line = make("div", "row");
      line.id = `${this.id}n${index}`;
      line.dataset.node = index;
      line.setAttribute("role", "treeitem");
      line.setAttribute("aria-level", node.depth + 1);
      if (node.isParent) line.setAttribute("aria-expanded", node.isOpen);
      line.style.paddingLeft = `${node.depth * 1.1 + 0.3}em`;
      const name = node.name[0] === "[" ? (this.nodes[node.parent]?.name ?? "") + node.name : node.name;
      line.append(make("span", "fold", node.isParent ? (node.isOpen ? "\u25be" : "\u25b8") : ""));
      line.append(make("span", "name", name));
      if (node.value) line.append(make("span", "value", node.value));
      if (node.type) line.append(make("span", "type", node.type));
      for (const fault of node.faults) line.append(make("span", "fault", `! ${fault}`));
      return line;
    }
    drawBytes(row) {
      const line = make("div", "row"), start = row * this.wide, digits = make("span", "hex"), letters = make("span", "text");
      line.append(make("span", "offset", hex(start, 6)));
      for (let at = start; at < start + this.wide; at++) {
        const inside = at < this.bytes.length, byte = this.bytes[at];
        const veiled = this.hidden.some(([from, to]) => at >= from && at < to);
        const odd = inside && this.owners.length && this.ownerPlace(at) % 2 ? " odd" : "";
        const cell = make("span", `byte${odd}${at % 8 === 7 ? " gap" : ""}`, !inside ? "  " : veiled ? "**" : hex(byte, 2));
        digits.append(cell);
        if (!inside) continue;
        const letter = make("span", "letter", veiled ? "*" : byte > 32 && byte < 127 ? String.fromCharCode(byte) : "\u00b7");
        cell.dataset.at = letter.dataset.at = at;
        letters.append(letter);
      }
      line.append(digits, letters);
      return line;
    }
    paint() {
      const node = this.nodes[this.hot];
      const end = node ? this.lastByte(this.hot) : 0;
      for (const cell of this.dump.querySelectorAll("[data-at]")) {
        const at = +cell.dataset.at;
        cell.classList.toggle("on", !!node && at >= node.start && at < node.stop);
        cell.classList.toggle("in", !!node && at >= node.stop && at < end);
        cell.classList.toggle("cursor", at === this.cursor);
      }
      let lit = this.hot;
      while (lit >= 0 && !this.visible.includes(lit)) lit = this.nodes[lit].parent;
      for (const line of this.fields.querySelectorAll(".row")) {
        line.classList.toggle("on", +line.dataset.node === lit);
        line.setAttribute("aria-selected", +line.dataset.node === lit);
      }
      if (lit >= 0) this.fields.setAttribute("aria-activedescendant", `${this.id}n${lit}`);
    }

    // Which byte is whose.
    ownerPlace(at) {
      let low = 0, high = this.owners.length - 1;
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (this.nodes[this.owners[middle]].start <= at) low = middle;
        else high = middle - 1;
      }
      return low;
    }
    owner(at) {
      return this.owners.length ? this.owners[this.ownerPlace(at)] : -1;
    }
    lastByte(index) {
      return Math.max(this.nodes[index].stop, this.nodes[this.nodes[index].end - 1].stop);
    }
    path(index) {
      let path = "";
      for (let i = index; i >= 0; i = this.nodes[i].parent) {
        const name = this.nodes[i].name;
        path = path && path[0] !== "[" ? `${name}.${path}` : name + path;
      }
      return path;
    }

    // Lighting up.
    light(index, from) {
      this.hot = index;
      const node = this.nodes[index];
      if (!node) this.status.textContent = "\u00a0";
      else {
        const end = this.lastByte(index), count = end - node.start;
        const place = count ? `bytes ${node.start}\u2013${end - 1} (${count})` : "no bytes";
        this.status.textContent = [this.path(index), node.type, node.value, place, ...node.faults]
          .filter(Boolean).join("  \u00b7  ");
        if (from === this.fields) this.grid.reveal(Math.floor(node.start / this.wide));
        if (from === this.dump) this.revealField(index);
      }
      this.paint();
    }
    revealField(index) {
      let shown = index;
      while (shown >= 0 && !this.visible.includes(shown)) shown = this.nodes[shown].parent;
      if (shown >= 0) this.tree.reveal(this.visible.indexOf(shown));
    }
    found(event, pane) {
      const target = event.target.closest(pane === this.fields ? "[data-node]" : "[data-at]");
      if (!target) return -1;
      return pane === this.fields ? +target.dataset.node : this.owner(+target.dataset.at);
    }
    point(event, pane) {
      const index = this.found(event, pane);
      if (index >= 0 && index !== this.hot) this.light(index, pane);
    }
    keep(event, pane) {
      const index = this.found(event, pane);
      if (index < 0) return;
      if (pane === this.fields && this.nodes[index].isParent && event.target.className === "fold") this.fold(index);
      else if (pane === this.dump) {
        this.cursor = +event.target.closest("[data-at]").dataset.at;
        this.unfoldTo(index);
      }
      this.kept = this.kept === index && event.target.className !== "fold" ? -1 : index;
      this.light(index, pane);
    }
    fold(index, isOpen = !this.nodes[index].isOpen) {
      this.nodes[index].isOpen = isOpen;
      this.visible = this.visibleNodes();
      this.tree.resize(this.visible.length);
    }
    unfoldTo(index) {
      for (let i = this.nodes[index].parent; i >= 0; i = this.nodes[i].parent) this.nodes[i].isOpen = true;
      this.fold(index, this.nodes[index].isOpen);
    }

    // Keys.
    fieldKey(event) {
      const row = Math.max(this.visible.indexOf(this.hot), 0), node = this.nodes[this.visible[row]];
      const page = Math.max(1, Math.floor(this.fields.clientHeight / this.tree.height) - 1);
      const moves = { ArrowDown: row + 1, ArrowUp: row - 1, Home: 0, End: this.visible.length - 1,
                      PageDown: row + page, PageUp: row - page };
      let to = moves[event.key];
      if (this.hot < 0 && to !== undefined && event.key !== "End") to = 0;
      if (event.key === "ArrowRight" || event.key === "ArrowLeft" || event.key === "Enter") {
        const wanted = event.key === "Enter" ? !node.isOpen : event.key === "ArrowRight";
        if (node.isParent && node.isOpen !== wanted) this.fold(this.visible[row], wanted);
        else if (event.key === "ArrowLeft" && node.parent >= 0) to = this.visible.indexOf(node.parent);
        else if (event.key === "ArrowRight") to = row + 1;
        to ??= row;
      }
      if (to === undefined) return;
      event.preventDefault();
      this.kept = this.visible[Math.min(Math.max(to, 0), this.visible.length - 1)];
      this.tree.reveal(this.visible.indexOf(this.kept));
      this.light(this.kept, this.fields);
    }
    byteKey(event) {
      const wide = this.wide, last = this.bytes.length - 1;
      const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: wide, ArrowUp: -wide, Home: -Infinity, End: Infinity,
                      PageDown: wide * 16, PageUp: -wide * 16 };
      if (!(event.key in steps) || last < 0) return;
      event.preventDefault();
      const to = this.cursor === undefined ? (event.key === "End" ? last : 0) : this.cursor + steps[event.key];
      this.cursor = Math.min(Math.max(to, 0), last);
      this.grid.reveal(Math.floor(this.cursor / wide));
      this.kept = this.owner(this.cursor);
      if (this.kept >= 0) this.light(this.kept, this.dump);
    }
  }

  // One frame is drawn in its place. Many are a list, and one of them is drawn in the panes below.
  const frames = [...document.querySelectorAll("details.frame")];
  const numbered = new Map(frames.map((frame) => [frame.dataset.frame, frame])), others = new Map();
  for (const frame of frames) {
    const request = frame.dataset.request && numbered.get(frame.dataset.request);
    if (request) others.set(frame, request).set(request, frame);
  }
  const list = document.querySelector("main"), detail = make("section", "detail");
  let view = null, chosen = null;
  const draw = (frame, box) => { view = new View(box, JSON.parse(frame.querySelector("script").textContent)); };
  const choose = (frame) => {
    if (!frame || frame === chosen) return;
    chosen?.classList.remove("chosen");
    chosen = frame;
    frame.classList.add("chosen");
    frame.scrollIntoView({ block: "nearest" });
    detail.replaceChildren();
    const other = others.get(frame);
    if (other) {
      const name = `${frame.dataset.request ? "request" : "response"}: frame ${parseInt(other.dataset.frame, 10)}`;
      const button = make("button", "other", `${frame.dataset.request ? "\u2190" : "\u2192"} ${name} (r)`);
      button.type = "button";
      button.addEventListener("click", () => jump(other));
      detail.append(button);
    }
    draw(frame, detail);
  };
  if (frames.length > 1) {
    document.body.classList.add("panes");
    list.after(detail);
    list.addEventListener("click", (event) => {
      event.preventDefault(); // the frame does not unfold
      choose(event.target.closest("details.frame"));
    });
    for (const frame of frames) frame.open = false;
  } else for (const frame of frames) draw(frame, frame);
  narrow.addEventListener("change", () => view?.layout());

  // Many frames: some at a time, and a filter.
  const bar = document.querySelector("nav"), filter = bar.querySelector("input");
  const output = bar.querySelector("output"), buttons = [...bar.querySelectorAll("button")];
  let page = 0, matching = frames;
  const turn = (to) => {
    const pages = Math.max(1, Math.ceil(matching.length / FRAMES));
    page = Math.min(Math.max(to, 0), pages - 1);
    const shown = new Set(matching.slice(page * FRAMES, (page + 1) * FRAMES));
    for (const frame of frames) frame.hidden = !shown.has(frame);
    if (frames.length > 1 && !shown.has(chosen)) choose(matching[page * FRAMES]);
    const first = page * FRAMES, last = Math.min(first + FRAMES, matching.length);
    output.textContent = matching.length ? `${first + 1}\u2013${last} of ${matching.length}` : "none";
    buttons[0].disabled = page === 0;
    buttons[1].disabled = page === pages - 1;
  };
  const search = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const text = (frame) => `${frame.className} ${frame.querySelector("summary").textContent}`.toLowerCase();
    matching = words.length ? frames.filter((frame) => words.every((word) => text(frame).includes(word))) : frames;
    turn(0);
  };
  const jump = (frame) => { // to a frame that the filter may hide
    if (!frame) return;
    if (!matching.includes(frame)) {
      filter.value = "";
      matching = frames;
    }
    turn(Math.floor(matching.indexOf(frame) / FRAMES));
    choose(frame);
  };
  document.addEventListener("keydown", (event) => {
    if (event.key === "r" && event.target !== filter && !event.ctrlKey && !event.metaKey && !event.altKey) {
      jump(others.get(chosen));
    }
  });
  filter.addEventListener("input", search);
  for (const button of buttons) button.addEventListener("click", () => turn(page + Number(button.dataset.turn)));
  list.addEventListener("keydown", (event) => {
    const rows = Math.max(1, Math.floor(list.clientHeight / (chosen?.offsetHeight || 20)) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: rows, PageUp: -rows, Home: -Infinity, End: Infinity };
    if (frames.length < 2 || !(event.key in steps) || !matching.length) return;
    event.preventDefault();
    const first = page * FRAMES, last = Math.min(first + FRAMES, matching.length) - 1;
    choose(matching[Math.min(Math.max(matching.indexOf(chosen) + steps[event.key], first), last)]);
    chosen.querySelector("summary").focus({ preventScroll: true });
  });
  bar.hidden = frames.length < 2;
  turn(0);
})();
