// The table: its columns, a page of rows, and a bar with an interval in each.
explorer.table = (model, find, change) => {
  const { DASH, dollars, written, heading, ratio, element, quantityOf, significant } = explorer.numbers;
  const PAGE_ROWS = 20;
  const share = (of) => `${Math.floor(1000 * of + 1e-9) / 10}\u00a0%`; // truncated: 94.99 never reads as 95
  const LONG_TITLE = 14;

  // Relative values are ratios to one row; where a pair is known, by its fitted ratio and simultaneous interval.
  const relativeTo = (base, { board, state }) => (row) => {
    if (row.value === null) return { value: null };
    if (row === base) return { value: 1, low: 1, high: 1 };
    const found = model.pair(board, state.view, row.one, base.one, state);
    if (!found || !Number.isFinite(found.low + found.high)) return { value: row.value / base.value, low: null, high: null };
    const sign = model.lessIsBetter(board, state.view) ? -1 : 1;
    const ends = [found.low, found.high].map((end) => Math.exp(sign * end)).sort((a, b) => a - b);
    return { value: Math.exp(sign * found.estimate), low: ends[0], high: ends[1] };
  };

  const ENOUGH = 0.95; // with fewer replicates than it takes, the line is only their range
  const measured = (row) => ({ value: row.value, low: row.n > 1 ? row.low : null, high: row.n > 1 ? row.high : null, partial: row.coverage < ENOUGH });

  // How values of this state are shown: which numbers, their text, and where they are on a bar.
  const scaleOf = (seen) => {
    const { board, rows, state } = seen;
    const known = rows.filter((row) => row.value !== null);
    const base = known.find((row) => row.one.name === state.pins[0]) ?? known[0];
    const quantity = quantityOf(known.map((row) => row.value * board.divisor), board);
    const relative = state.scale === "relative" && base;
    const numbers = relative ? relativeTo(base, seen) : measured;
    const shown = known.map(numbers);
    const ends = shown.flatMap(({ value, low, high }) => [value, low, high]).filter((end) => end !== null && Number.isFinite(end));
    const most = Math.max(...ends, 0) || 1;
    const least = Math.min(...ends.filter((end) => end > 0), most);
    const log = state.scale === "log" && least < most;
    const text = relative ? ratio : (value) => written(value, board, state.view, quantity);
    const at = log ? (value) => Math.log(Math.max(value, least) / least) / Math.log(most / least) : (value) => value / most;
    const said = log ? `log scale, ${text(least)} to ${text(most)}` : relative ? `1\u00d7 = ${base.one.called}` : "from zero";
    return { numbers, text, at: (value) => Math.min(1, at(value)), log, base: relative ? base : null, said, quantity };
  };

  const bar = ({ value, low, high, partial }, scale) => {
    const x = (number) => 1 + 118 * scale.at(number);
    const part = (tag, attributes) => element(tag, { svg: true, ...attributes });
    const drawn = element("svg", { svg: true, viewBox: "0 0 120 14", width: 120, height: 14, "aria-hidden": "true", class: "bar" });
    drawn.append(part("line", { x1: 1, x2: 119, y1: 13.5, y2: 13.5, class: "bar-axis" }));
    if (!scale.log) drawn.append(part("rect", { x: 1, width: Math.max(0, x(value) - 1), y: 3, height: 7, class: "bar-length" }));
    if (low !== null) drawn.append(part("rect", { x: x(low), width: Math.max(1, x(high) - x(low)), y: 1, height: 11, class: partial ? "bar-interval partial" : "bar-interval" }));
    drawn.append(part("rect", { x: x(value) - 1, width: 2, y: 0, height: 13, class: "bar-median" }));
    if (scale.base) drawn.append(part("line", { x1: x(1), x2: x(1), y1: 0, y2: 14, class: "bar-one" }));
    return drawn;
  };

  const rankText = ({ first, last }) => (first === last ? String(first) : `${first} ${DASH} ${last}`);
  const ties = ({ ties: names }) => {
    if (!names.length) return "";
    const said = names.length > 2 ? `${names.length} ties` : names.map((name) => model.find(name).called).join(", ");
    return element("small", { class: "even" }, `= ${said}`);
  };
  // Beside the name stands only what tells machines apart.
  const bare = (text) => text.toLowerCase().replace(/[^a-z0-9]/g, "");
  const varied = new Set(["provider", "cpu", "storage"].filter((key) => new Set(model.data.configurations.map((one) => one[key])).size > 1));
  const places = new Set(model.data.configurations.map((one) => `${one.provider} ${one.region}`));
  const severalPlaces = places.size > new Set(model.data.configurations.map((one) => one.provider)).size;
  const about = (one) => {
    const type = one.type && !bare(one.name).includes(bare(one.type.replace(/^Standard_/, ""))) ? one.type : null;
    const of = (key) => (varied.has(key) ? one[key] : null);
    const name = one.name === one.called ? null : one.name;
    return [name, model.sellerOf(of("provider")), severalPlaces ? one.region : null, type, of("cpu"), of("storage")].filter(Boolean).join(" \u00b7 ");
  };

  // On a telephone, where it has no column of its own.
  const size = ({ vcpus, gib }) => [vcpus && `${vcpus} vCPUs`, gib && `${significant(gib)} GiB`].filter(Boolean).join(", ");

  const valueCell = (row, scale, board) => {
    if (row.value === null) return [element("span", { class: "warn" }, "no price"), element("small", {}, row.missing ?? "")];
    const { value, low, high } = scale.numbers(row);
    const interval = row === scale.base ? "" : low === null ? (row.n === 1 ? "single run" : "not decided") : `${scale.text(low, value)} ${DASH} ${scale.text(high, value)}`;
    // Relative values have the intervals of pairs, which all are right at once.
    const sure = scale.base || low === null ? [] : [element("small", {}, `n = ${row.n}, ${share(row.coverage)}`)];
    return [element("a", { href: board.evidence }, scale.text(value)), element("small", {}, interval), ...sure];
  };

  const monthCell = ({ month }) => [month === null ? DASH : element("a", { href: model.data.costs }, dollars(month))];

  const columnsOf = ({ board, state }, scale) => {
    const { view } = state;
    const priced = model.data.bases.length > 0;
    const some = (key) => model.data.configurations.some((one) => one[key] !== null);
    const all = [
      { title: "Pin", kind: "pin", cells: (row) => [pin(row, state)] },
      { title: "Rank", sort: "rank", kind: "n", cells: (row) => (row.value === null ? [DASH] : [rankText(row), ties(row)]) },
      { title: "Configuration", sort: "name", kind: "who", cells: (row) => [row.one.called, element("small", {}, about(row.one)), element("small", { class: "folded" }, size(row.one))] },
      { title: heading(board, view, scale.quantity), sort: "rank", kind: "n", again: true, cells: (row) => valueCell(row, scale, board) },
      { title: scale.said, kind: "aside", cells: (row) => (row.value === null ? [] : [bar(scale.numbers(row), scale)]) },
      view !== "plain" && { title: heading(board, "plain"), sort: "performance", kind: "n", cells: (row) => [written(row.performance, board, "plain")] },
      priced && { title: "$ a month", sort: "month", kind: "n", cells: monthCell },
      priced && board.higher && view !== "dollar" && dollarColumn(board, scale.rows),
      some("vcpus") && { title: "vCPUs", sort: "vcpus", kind: "n aside", cells: (row) => [String(row.one.vcpus ?? DASH)] },
      some("gib") && { title: "GiB", sort: "gib", kind: "n aside", cells: (row) => [row.one.gib === null ? DASH : significant(row.one.gib)] },
    ];
    return all.filter(Boolean);
  };
  const dollarColumn = (board, rows) => {
    const quantity = quantityOf(rows.filter((row) => row.dollars !== null).map((row) => row.dollars * board.divisor), board);
    const cells = (row) => [row.dollars === null ? DASH : written(row.dollars, board, "dollar", quantity)];
    return { title: heading(board, "dollar", quantity), sort: "dollars", kind: "n aside", cells };
  };

  const pin = ({ one: { name, called } }, { pins }) => {
    const box = element("input", { type: "checkbox", "data-pin": name, "aria-label": `Pin ${called}` });
    box.checked = pins.includes(name);
    box.disabled = !box.checked && pins.length === explorer.MAX_PINS;
    box.addEventListener("change", () => change({ pins: box.checked ? [...pins, name] : pins.filter((other) => other !== name) }));
    return box;
  };

  const head = (columns, board, state) => {
    const up = state.sort === "rank" ? !state.reverse : model.direction(board, state) > 0;
    return columns.map((column) => {
      const said = column.sort && !column.again && column.sort === state.sort ? (up ? "ascending" : "descending") : null;
      const kinds = [column.kind, column.title.length > LONG_TITLE && "long"].filter(Boolean).join(" ");
      const cell = element("th", { scope: "col", class: kinds || null, "aria-sort": said });
      if (!column.sort || column.again) {
        cell.append(column.title);
        return cell;
      }
      const button = element("button", { type: "button", "data-sort": column.sort }, column.title);
      if (said) button.append(element("span", { "aria-hidden": "true" }, up ? " \u25b2" : " \u25bc"));
      button.addEventListener("click", () => change({ sort: column.sort, reverse: column.sort === state.sort && !state.reverse }));
      cell.append(button);
      return cell;
    });
  };

  const focused = () => {
    const { pin: name, sort } = document.activeElement?.dataset ?? {};
    return name ? `[data-pin="${CSS.escape(name)}"]` : sort ? `[data-sort="${sort}"]` : null;
  };

  const show = (seen) => {
    const { board, rows, state } = seen;
    const pages = Math.max(1, Math.ceil(rows.length / PAGE_ROWS));
    const page = Math.min(state.page, pages - 1);
    const scale = { ...scaleOf(seen), rows };
    const columns = columnsOf(seen, scale);
    const before = focused();
    find("head").replaceChildren(...head(columns, board, state));
    find("rows").replaceChildren(
      ...rows.slice(page * PAGE_ROWS, (page + 1) * PAGE_ROWS).map((row) => {
        row.missing = row.one.prices[state.basis]?.missing;
        const ranks = row.value === null ? {} : { "data-first": row.first, "data-last": row.last, "data-value": row.value };
        const made = element("tr", { "data-name": row.one.name, ...ranks, class: state.pins.includes(row.one.name) ? "is-pinned" : null });
        for (const column of columns) {
          const who = column.kind === "who";
          made.append(element(who ? "th" : "td", { class: column.kind ?? null, scope: who ? "row" : null }, ...column.cells(row)));
        }
        return made;
      }),
    );
    if (before) find("table").querySelector(before)?.focus();
    find("pages").hidden = pages === 1;
    find("page").textContent = `${page * PAGE_ROWS + 1} ${DASH} ${Math.min(rows.length, (page + 1) * PAGE_ROWS)} of ${rows.length}`;
    find("previous").disabled = page === 0;
    find("next").disabled = page === pages - 1;
    return page;
  };
  return { show };
};
