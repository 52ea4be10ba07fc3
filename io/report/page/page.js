"use strict";
// The table of images: its rows come compressed, and only those in sight are in the document.
(async () => {
  const holder = document.getElementById("table");
  if (!holder) return;
  const find = document.getElementById("find"), choose = document.getElementById("flag");
  const status = document.getElementById("count");

  const packed = Uint8Array.from(atob(document.getElementById("rows").textContent), (c) => c.charCodeAt(0));
  let data;
  try {
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
    data = JSON.parse(await new Response(stream).text());
  } catch {
    status.textContent = "This browser can't unpack the table.";
    return;
  }
  const { paths, bits, flags, names, numbers } = data;
  const lower = paths.map((path) => path.toLowerCase());
  const all = Uint32Array.from(paths.keys());
  let shown = all, sortedBy = -1, direction = 1;  // columns: path, flags, and then the numbers

  const make = (name, className, text) => {
    const element = document.createElement(name);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const table = make("table"), body = make("tbody");
  table.append(make("caption", "skip", "Images, with their flags and numbers"), make("thead"), body);
  const heads = ["path", "flags", ...names].map((name, column) => {
    const head = make("th", column > 1 ? "n" : "");
    head.scope = "col";
    head.setAttribute("aria-sort", "none");
    const button = make("button", "", name);
    button.type = "button";
    button.addEventListener("click", () => sort(column));
    head.append(button);
    return head;
  });
  const headRow = make("tr");
  headRow.setAttribute("aria-rowindex", "1");
  headRow.append(...heads);
  table.tHead.append(headRow);
  holder.replaceChildren(table);

  const format = (value) => {
    if (value === null) return "";
    if (Number.isInteger(value)) return value.toLocaleString("en-US");
    return Math.abs(value) >= 1e6 || Math.abs(value) < 1e-4 ? value.toExponential(2) : String(value);
  };
  const bitsSet = (value) => {
    let count = 0;
    for (; value; value &= value - 1) ++count;
    return count;
  };
  const rowOf = (place) => {
    const image = shown[place], row = make("tr");
    row.setAttribute("aria-rowindex", String(place + 2));
    const path = make("th");
    path.scope = "row";
    path.title = paths[image];
    path.append(make("bdi", "", paths[image]));
    const marks = make("td");
    flags.forEach((name, bit) => {
      if (bits[image] & (1 << bit)) marks.append(make("span", "flag", name));
    });
    row.append(path, marks, ...numbers.map((column) => make("td", "n", format(column[image]))));
    return row;
  };

  // Few rows are all there; of many, those in sight and some around them, between two rows as high as the others.
  const most = 2000, around = 30;
  const space = () => {
    const row = make("tr", "space"), cell = make("td");
    row.setAttribute("aria-hidden", "true");
    cell.colSpan = heads.length;
    row.append(cell);
    return { row, set: (height) => { cell.style.height = height + "px"; row.hidden = height === 0; } };
  };
  const above = space(), below = space();
  let first = -1, last = -1, height = 34;
  const draw = (force) => {
    let from = 0, to = shown.length;
    if (shown.length > most) {
      from = Math.max(0, Math.floor(holder.scrollTop / height) - around);
      to = Math.min(shown.length, from + Math.ceil(holder.clientHeight / height) + 2 * around);
    }
    if (!force && from === first && to === last) return;
    [first, last] = [from, to];
    const rows = [];
    for (let place = from; place < to; ++place) rows.push(rowOf(place));
    above.set(from * height);
    below.set((shown.length - to) * height);
    body.replaceChildren(above.row, ...rows, below.row);
    if (rows.length > 0 && rows[0].offsetHeight > 0 && Math.abs(rows[0].offsetHeight - height) > 0.5) {
      height = rows[0].offsetHeight;
      above.set(from * height);
      below.set((shown.length - to) * height);
    }
    table.setAttribute("aria-rowcount", String(shown.length + 1));
  };
  const renew = () => {
    const total = paths.length.toLocaleString("en-US");
    status.textContent = shown.length === paths.length
      ? total + (paths.length === 1 ? " row" : " rows")
      : shown.length.toLocaleString("en-US") + " of " + total + " rows";
    holder.scrollTop = 0;
    draw(true);
  };

  const order = () => {
    if (sortedBy < 0) return;
    const column = numbers[sortedBy - 2];
    const compare = sortedBy === 0
      ? (a, b) => (lower[a] < lower[b] ? -1 : lower[a] > lower[b] ? 1 : 0)
      : sortedBy === 1 ? (a, b) => bitsSet(bits[a]) - bitsSet(bits[b]) || bits[a] - bits[b]
      : (a, b) => column[a] - column[b];
    const empty = column ? (image) => column[image] === null : () => false;
    // What has no value comes last, whatever the direction.
    shown.sort((a, b) => (empty(a) - empty(b)) || (empty(a) ? a - b : direction * compare(a, b)) || a - b);
  };
  const sort = (column) => {
    direction = sortedBy === column ? -direction : column === 0 ? 1 : -1;
    sortedBy = column;
    heads.forEach((head, place) =>
      head.setAttribute("aria-sort", place !== column ? "none" : direction > 0 ? "ascending" : "descending"));
    order();
    renew();
  };

  // Words are parts of paths; noise>5 and width<=640 are conditions.
  const conditions = (text) => text.toLowerCase().split(/\s+/).filter(Boolean).map((word) => {
    const parts = /^([a-z0-9_.]+)(<=|>=|<|>|=)(-?[0-9.]+(?:e[-+]?[0-9]+)?)$/.exec(word);
    const column = parts ? names.findIndex((name) => name.toLowerCase() === parts[1]) : -1;
    if (column < 0) return (image) => lower[image].includes(word);
    const values = numbers[column], limit = Number(parts[3]);
    const holds = { "<": (v) => v < limit, ">": (v) => v > limit, "<=": (v) => v <= limit,
      ">=": (v) => v >= limit, "=": (v) => v === limit }[parts[2]];
    return (image) => values[image] !== null && holds(values[image]);
  });
  const filter = () => {
    const tests = conditions(find.value);
    const wanted = choose.value;
    if (wanted === "any") tests.push((image) => bits[image] !== 0);
    else if (wanted !== "") tests.push((image) => (bits[image] & (1 << Number(wanted))) !== 0);
    shown = all.filter((image) => tests.every((test) => test(image)));
    order();
    renew();
  };
  let waiting = 0;
  find.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(filter, 80); });
  choose.addEventListener("input", filter);
  holder.addEventListener("scroll", () => requestAnimationFrame(() => draw(false)), { passive: true });
  addEventListener("resize", () => draw(false));
  addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (/^(input|select|textarea)$/i.test(document.activeElement.tagName)) return;
    event.preventDefault();
    find.focus();
  });
  for (const button of document.querySelectorAll(".jump")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      choose.value = String(flags.indexOf(button.dataset.flag));
      find.value = "";
      filter();
      document.getElementById("images").scrollIntoView();
      holder.focus({ preventScroll: true });
    });
  }
  // Paper has no scroll bar: the first rows are printed.
  let whole = null;
  addEventListener("beforeprint", () => {
    whole = shown;
    if (shown.length > 100) shown = shown.slice(0, 100);
    draw(true);
  });
  addEventListener("afterprint", () => {
    if (whole) shown = whole;
    draw(true);
  });

  choose.disabled = find.disabled = false;
  shown = all.slice();
  renew();
  document.documentElement.dataset.ready = "yes";
})();
