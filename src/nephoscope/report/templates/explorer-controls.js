// The fields, and the sentence that answers them; starts the explorer.
explorer.start = async () => {
  const source = document.getElementById("explorer-data");
  if (!source) return;
  const unpacked = (text) => {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  };
  const packed = source.textContent.trim();
  const data = JSON.parse(packed.startsWith("{") ? packed : await unpacked(packed));
  const model = explorer.model(data);
  const { element, DASH, written, dollars, heading, counted, unitText } = explorer.numbers;
  const find = (name) => document.getElementById(`explore-${name}`);
  for (const { label, key } of model.LABELS)
    find("view").closest("label").before(element("label", {}, `${label[0].toUpperCase()}${label.slice(1).replaceAll("-", " ")} `, element("select", { id: `explore-${key}` })));
  const FILTERS = { search: "", ...Object.fromEntries(model.CHOICES.map((key) => [key, ""])), vcpus: "", gib: 0, month: 0, least: 0 };
  const start = {
    board: data.boards[0].name, view: data.view, scale: "absolute", basis: data.bases[0] ?? "", discount: 0,
    ...FILTERS, sort: "rank", reverse: false, page: 0, pins: [], prices: {},
  };
  const address = explorer.address(start, model);
  explorer.MAX_PINS = address.MAX_PINS;
  const NUMBERS = ["month", "least", "gib", "discount"];
  const MANY = 5; // fewer configurations than this need no search
  const NAMED = 6; // more names than this are not read
  let state = { ...start };
  let seen = null;

  const change = (changes, filtered = false) => {
    state = address.cleaned({ ...state, ...changes, page: changes.page ?? (filtered || "sort" in changes ? 0 : state.page) });
    address.write(state);
    show();
  };

  // ---- what the fields offer ----

  const distinct = (key) => [...new Set(data.configurations.map((one) => one[key]).filter((value) => value !== null && value !== undefined))];
  const natural = (a, b) => (typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true }));
  const offer = (name, options, chosen) => {
    const field = find(name);
    field.replaceChildren(...options.map(([value, text]) => element("option", { value }, text)));
    field.value = chosen;
    field.closest("label").hidden = options.length < 2;
  };
  const fill = () => {
    offer("board", data.boards.map((board) => [board.name, `${board.of}${board.title}`]), state.board);
    offer("basis", data.bases.map((basis) => [basis, data.basis_texts[basis]]), state.basis);
    for (const key of model.CHOICES) {
      const values = distinct(key).sort(natural);
      offer(key, values.length > 1 ? [["", "any"], ...values.map((value) => [value, key === "provider" ? model.sellerOf(value) : value])] : [], state[key]);
    }
    const sizes = distinct("vcpus").sort(natural);
    const more = sizes.slice(1, -1).map((size) => [`${size}+`, `${size} or more`]);
    offer("vcpus", sizes.length > 1 ? [["", "any"], ...sizes.map((size) => [String(size), String(size)]), ...more] : [], state.vcpus);
    const priced = data.bases.length > 0;
    for (const key of ["month", "discount"]) find(key).closest("label").hidden = !priced;
    find("gib").closest("label").hidden = new Set(distinct("gib").map(Math.round)).size < 2;
    for (const key of ["search", "least"]) find(key).closest("label").hidden = data.configurations.length < MANY;
  };
  const VIEWS = [["plain", "performance"], ["cpu", "per CPU"], ["dollar", "$ per unit"]];
  const fillOfBoard = (board) => {
    offer("view", VIEWS.filter(([view]) => model.fits(board, view)), state.view);
    const unit = unitText(board.unit);
    find("least-title").textContent = `At ${board.higher ? "least" : "most"}${unit ? ` (${unit})` : ""}`;
  };
  const reflect = () => {
    for (const key of ["board", "basis", "scale", "vcpus", ...model.CHOICES]) find(key).value = state[key];
    for (const key of [...NUMBERS, "search"])
      if (document.activeElement !== find(key)) find(key).value = state[key] || "";
  };

  // ---- the sentence ----

  const answer = ({ board, measured, rows }) => {
    const all = measured.length;
    if (!rows.length) return `${all === 1 ? "The only configuration does not match" : `None of ${all} configurations matches`}: relax or clear a filter.`;
    const count = rows.length === all ? `${counted(all, "configuration")}.` : `${rows.length} of ${all} configurations ${rows.length === 1 ? "matches" : "match"}.`;
    const ranked = rows.filter((row) => row.value !== null);
    const best = model.mayBeBest(board, rows, state);
    const compared = model.known(board, rows).length > 1;
    if (best.length === 1) {
      const [{ one, performance, month }] = best;
      const cost = month === null ? "" : ` for ${dollars(month)} a month`;
      const value = `${written(performance, board, "plain")} ${unitText(board.unit)}`.trim();
      const asked = compared ? { plain: "Best", cpu: "Best per CPU", dollar: "Least cost for the work" }[state.view] : "Nothing to compare it with";
      return `${count} ${asked}: ${one.called}, ${value}${cost}.`;
    }
    if (!best.length || best.length === ranked.length) return best.length > 1 ? `${count} Any of these may be the best.` : count;
    if (best.length > NAMED) return `${count} ${best.length} of these may be the best.`;
    const names = best.map((row) => row.one.called);
    return `${count} The best is one of ${names.slice(0, -1).join(", ")} and ${names.at(-1)}.`;
  };
  const notes = ({ board, measured, rows }) => {
    const own = Object.keys(state.prices).length;
    return [
      !board.intervals && rows.length > 1 && rows.length < measured.length ? "The analysis holds no pairs of this workload, so ranks of a part of it are open." : "",
      state.discount ? `Prices: ${state.discount} % discount on machines, none on volumes.` : "",
      own ? `${own} with a price of your own.` : "",
      state.pins.length === 1 ? "Pin a second row to see both side by side." : "",
      state.pins.length === address.MAX_PINS ? `${address.MAX_PINS} rows are pinned: unpin one to pin another.` : "",
    ].filter(Boolean).join(" ");
  };

  const table = explorer.table(model, find, change);
  const pinned = explorer.pinned(model, find, change);
  const show = () => {
    const board = model.boards.get(state.board);
    fillOfBoard(board);
    reflect();
    seen = { ...model.rowsOf(state), state };
    state.page = table.show(seen);
    pinned.show(seen);
    find("caption").textContent = `Configurations by ${heading(board, "plain")}, ${counted(seen.rows.length, "row")}`;
    find("answer").textContent = answer(seen);
    find("note").textContent = notes(seen);
    find("download").textContent = `Download ${seen.rows.length === 1 ? "this row" : `these ${seen.rows.length} rows`} (CSV)`;
    find("download").disabled = !seen.rows.length;
    find("reset").hidden = !Object.keys(FILTERS).some((key) => state[key] !== FILTERS[key]) && !state.discount && !Object.keys(state.prices).length;
  };

  // ---- events ----

  for (const key of ["view", "scale", "basis", "vcpus", ...model.CHOICES])
    find(key).addEventListener("change", () => change({ [key]: find(key).value }, true));
  find("board").addEventListener("change", () => change({ board: find("board").value, least: 0 }, true));
  find("search").addEventListener("input", () => change({ search: find("search").value }, true));
  for (const key of NUMBERS) find(key).addEventListener("input", () => change({ [key]: Math.max(0, Number(find(key).value)) || 0 }, true));
  find("previous").addEventListener("click", () => change({ page: state.page - 1 }));
  find("next").addEventListener("click", () => change({ page: state.page + 1 }));
  find("download").addEventListener("click", () => explorer.download(seen, model.LABELS));
  find("reset").addEventListener("click", () => {
    change({ ...FILTERS, discount: 0, prices: {} }, true);
    find("board").focus();
  });
  addEventListener("hashchange", () => {
    const said = address.read();
    if (!said) return;
    state = said;
    show();
  });

  state = address.read() ?? { ...start };
  fill();
  show();
  document.documentElement.dataset.explorer = "ready";
  if (address.read()) document.getElementById("explore").scrollIntoView();
};
explorer.start();
