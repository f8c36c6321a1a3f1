// Lets the reader rank, filter and change prices. A different price changes every verdict per dollar, so ranks are
// computed here, by exact Mann-Whitney tests and Holm's correction: simpler than the report's leaderboards, and less sure.
(() => {
  const source = document.getElementById("explorer-data");
  if (!source) return;
  const data = JSON.parse(source.textContent);
  const config = JSON.parse(document.getElementById("chart-config").textContent);
  const find = (name) => document.getElementById(`explore-${name}`);
  const configurations = new Map(data.configurations.map((one) => [one.name, one]));
  const edited = new Map();
  const MOST_PAIRS = 40000;
  const [FIRST_ROWS, FOLDED_FROM] = [10, 16];
  let unfolded = false;
  const DASH = "\u2013";

  // ---- statistics: the same formulas as in nephoscope/stats ----

  const remembered = (make) => {
    const known = new Map();
    return (...key) => {
      const name = key.join();
      if (!known.has(name)) known.set(name, make(...key));
      return known.get(name);
    };
  };
  const sum = (values) => values.reduce((total, value) => total + value, 0);
  const sorted = (values) => Float64Array.from(values).sort();
  const middle = (ordered) => (ordered[(ordered.length - 1) >> 1] + ordered[ordered.length >> 1]) / 2;

  const shift = (scores, chosen) => {
    const largest = sum([...scores].sort((a, b) => a - b).slice(-chosen));
    const counts = Array.from({ length: chosen + 1 }, () => new Float64Array(largest + 1));
    counts[0][0] = 1;
    for (const score of scores)
      for (let j = chosen; j > 0; j--)
        for (let s = largest; s >= score; s--) counts[j][s] += counts[j - 1][s - score];
    const total = sum([...counts[chosen]]);
    return counts[chosen].map((count) => count / total);
  };
  const untied = remembered((m, n) => shift(Array.from({ length: m + n }, (_, index) => index + 1), m));
  const normal = (z) => {
    const t = 1 / (1 + 0.3275911 * (Math.abs(z) / Math.SQRT2));
    const series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
    const tail = (series * Math.exp((-z * z) / 2)) / 2;
    return z < 0 ? tail : 1 - tail;
  };
  const cumulativeU = (u, m, n) => {
    if (u < 0) return 0;
    if (m * n > data.exactPairs) return normal((u + 0.5 - (m * n) / 2) / Math.sqrt((m * n * (m + n + 1)) / 12));
    return Math.min(1, sum([...untied(m, n).subarray(0, (m * (m + 1)) / 2 + u + 1)]));
  };
  const intervalRank = remembered((m, n) => {
    let rank = 0;
    while (2 * rank < m * n && 2 * cumulativeU(rank, m, n) <= 1 - data.confidence) rank++;
    return rank;
  });
  const pValue = (x, y) => {
    const both = [...x, ...y];
    const ordered = sorted(both);
    const places = new Map();
    ordered.forEach((value, index) => places.set(value, [...(places.get(value) ?? [index]).slice(0, 1), index]));
    if (places.size === 1) return 1;
    const [m, n] = [x.length, y.length];
    let scores = both.map((value) => places.get(value)[0] + places.get(value).at(-1) + 2);
    let observed = sum(scores.slice(0, m));
    if (m * n > data.exactPairs) {
      const sizes = [...places.values()].map(([first, last = first]) => last - first + 1);
      const ties = sum(sizes.map((t) => t ** 3 - t)) / ((m + n) * (m + n - 1));
      const deviation = Math.sqrt(((m * n) / 12) * (m + n + 1 - ties));
      return Math.min(1, 2 * normal(-Math.max(0, Math.abs(observed / 2 - (m * (m + n + 1)) / 2) - 0.5) / deviation));
    }
    if (scores.every((score) => score % 2 === 0)) {
      scores = scores.map((score) => score / 2);
      observed /= 2;
    }
    const chances = places.size === m + n ? untied(m, n) : shift(scores, m);
    return Math.min(1, 2 * Math.min(sum([...chances.subarray(0, observed + 1)]), sum([...chances.subarray(observed)])));
  };
  const compare = (x, y) => {
    const logs = sorted(x.flatMap((a) => y.map((b) => Math.log(a) - Math.log(b))));
    const rank = intervalRank(x.length, y.length);
    if (!rank) return null;
    return { low: Math.exp(logs[rank - 1]), high: Math.exp(logs[logs.length - rank]), p: pValue(x, y) };
  };
  const holm = (pairs) => {
    let highest = 0;
    [...pairs]
      .sort((a, b) => a.p - b.p)
      .forEach((pair, place) => {
        highest = Math.max(highest, Math.min(1, (pairs.length - place) * pair.p));
        pair.adjusted = highest;
      });
  };
  const verdict = ({ low, high, adjusted }, higher) => {
    const largest = 1 + data.margin;
    if (low >= 1 / largest && high <= largest) return "tie";
    if (adjusted < data.alpha && (low > 1 || high < 1)) return low > 1 === higher ? "better" : "worse";
    return "unresolved";
  };
  const medianRank = remembered((n) => {
    let [chance, below, rank] = [0.5 ** n, 0, 1];
    for (let k = 0; 2 * (k + 1) <= n + 1; k++) {
      below += chance;
      if (1 - 2 * below < data.confidence) break;
      rank = k + 1;
      chance *= (n - k) / (k + 1);
    }
    return rank;
  });

  // ---- prices ----

  const basisNow = () => find("basis").value;
  const discount = () => Math.min(99.9, Math.max(0, Number(find("discount").value) || 0));
  const listed = (name, basis) => configurations.get(name).prices[basis];
  const rateOf = (name, basis) => edited.get(`${basis} ${name}`) ?? listed(name, basis)?.rate ?? null;
  const monthOf = (name, basis) => {
    const [price, rate] = [listed(name, basis) ?? Object.values(configurations.get(name).prices)[0], rateOf(name, basis)];
    if (!price || rate === null || price.volumes === null) return null;
    return price.machines * (price.hours * rate * (1 - discount() / 100) + price.volumes);
  };

  // ---- leaderboards ----

  const seen = (board, view, basis) => {
    const found = new Map();
    for (const [name, pairs] of Object.entries(board.values)) {
      const month = view === "dollar" ? monthOf(name, basis) : 1;
      const known = view === "cpu" ? pairs.filter(([, cpus]) => cpus) : pairs;
      if (month === null || !known.length) continue;
      found.set(name, known.map(([value, cpus]) => (view === "cpu" ? value / cpus : value / month)));
    }
    return found;
  };
  const fits = (board, view) => (view === "dollar" ? board.higher : view === "plain" || board.perCpu);

  let last = { key: "", boards: new Map() };
  const decided = (view, basis) => {
    const key = JSON.stringify([view, basis, view === "dollar" && [discount(), [...edited]]]);
    if (last.key === key) return last.boards;
    const families = [[], []];
    const boards = new Map();
    for (const board of data.boards.filter((one) => fits(one, view))) {
      const values = seen(board, view, basis);
      const names = [...values.keys()].filter((name) => Math.min(...values.get(name)) > 0);
      const pairs = [];
      const many = (names.length * (names.length - 1)) / 2 > MOST_PAIRS;
      for (let i = 0; i < names.length && !many; i++)
        for (let j = i + 1; j < names.length; j++) {
          const [x, y] = [values.get(names[i]), values.get(names[j])];
          const found = compare(x, y);
          if (found) pairs.push(Object.assign(found, { left: names[i], right: names[j] }));
        }
      boards.set(board, { values, pairs, many });
      families[board.headline ? 0 : 1].push(...pairs);
    }
    families.forEach(holm);
    for (const [board, { pairs }] of boards)
      for (const pair of pairs) pair.verdict = verdict(pair, view === "dollar" || board.higher);
    last = { key, boards };
    return boards;
  };

  const rows = () => {
    const [board, view, basis] = [data.boards[find("board").value], find("view").value, basisNow()];
    const { values, pairs, many } = decided(view, basis).get(board) ?? { values: new Map(), pairs: [], many: false };
    const wanted = (one) =>
      ["provider", "family", "vcpus"].every((key) => !find(key).value || String(one[key]) === find(key).value);
    const shown = new Set(data.configurations.filter(wanted).map((one) => one.name));
    const better = view === "dollar" || board.higher ? -1 : 1;
    const unit = board.divisor;
    const found = [...values].filter(([name]) => shown.has(name)).map(([name, many]) => {
      const ordered = sorted(many);
      const rank = medianRank(ordered.length);
      const [low, high] = [ordered[rank - 1], ordered[ordered.length - rank]];
      const said = { name, n: ordered.length, score: middle(ordered), above: 0, below: 0, ties: [] };
      if (view === "dollar") Object.assign(said, { value: unit / said.score, low: unit / high, high: unit / low });
      else Object.assign(said, { value: said.score / unit, low: low / unit, high: high / unit });
      return said;
    });
    const byName = new Map(found.map((row) => [row.name, row]));
    for (const pair of pairs) {
      const [left, right] = [byName.get(pair.left), byName.get(pair.right)];
      if (!left || !right) continue;
      if (pair.verdict === "tie") {
        left.ties.push(right.name);
        right.ties.push(left.name);
      } else if (pair.verdict !== "unresolved") {
        const [winner, loser] = pair.verdict === "better" ? [left, right] : [right, left];
        winner.below++;
        loser.above++;
      }
    }
    found.sort((a, b) => better * (a.score - b.score) || (a.name < b.name ? -1 : 1));
    const priceless = [...Object.keys(board.values)].filter((name) => shown.has(name) && !values.has(name));
    return { board, view, basis, found, priceless, many };
  };

  // ---- what is shown ----

  const element = (tag, attributes = {}, ...children) => {
    const made = document.createElementNS(attributes.xmlns ?? "http://www.w3.org/1999/xhtml", tag);
    for (const [name, value] of Object.entries(attributes)) if (name !== "xmlns") made.setAttribute(name, value);
    made.append(...children);
    return made;
  };
  const significant = (value) => Number(value.toPrecision(4)).toLocaleString("en", { maximumSignificantDigits: 4 });
  const dollars = (value) => `$${value.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
  // Dollars are quoted for a round quantity, so that the cheapest costs at least ten cents: per 1,000 and not for one.
  const quantityOf = ({ view, found }) =>
    view === "dollar" ? [1, 1e3, 1e6].find((many) => many * Math.min(...found.map((row) => row.value)) >= 0.1) ?? 1e9 : 1;
  const unitText = (unit) => ({ "1/s": "per second", "1/min": "per minute" })[unit] ?? unit;
  const perText = (quantity, unit) => {
    const number = quantity.toLocaleString("en");
    if (unit === "no unit") return number;
    if (unit.startsWith("1/")) return `${number}${unit.slice(1)}`;
    return quantity === 1 ? unit : `${number} ${unit}`;
  };
  const written = (value, { board, view, quantity }) =>
    view === "dollar"
      ? `$${significant(quantity * value)}`
      : value.toLocaleString("en", { minimumFractionDigits: board.decimals, maximumFractionDigits: board.decimals });

  const bar = ({ low, high, value }, most) => {
    const svg = "http://www.w3.org/2000/svg";
    const x = (at) => 1 + (118 * at) / most;
    return element(
      "svg",
      { xmlns: svg, viewBox: "0 0 120 14", width: 120, height: 14, "aria-hidden": "true", class: "bar" },
      element("line", { xmlns: svg, x1: 1, x2: 119, y1: 13.5, y2: 13.5, class: "bar-axis" }),
      element("rect", { xmlns: svg, x: x(low), width: Math.max(1, x(high) - x(low)), y: 1, height: 11, class: "bar-interval" }),
      element("rect", { xmlns: svg, x: x(value) - 1, width: 2, y: 0, height: 13, class: "bar-median" }),
    );
  };

  const priceCells = (name, basis) => {
    const price = listed(name, basis);
    const own = edited.has(`${basis} ${name}`);
    const rate = rateOf(name, basis);
    const input = element("input", {
      type: "number", min: "0.0001", step: "any", value: rate ?? "", placeholder: "none",
      "aria-label": `Dollars per hour for one machine of ${name}`, "data-name": name,
    });
    if (price && price.volumes === null) input.disabled = true;
    input.addEventListener("change", () => {
      const value = Number(input.value);
      if (value > 0) edited.set(`${basis} ${name}`, value);
      else edited.delete(`${basis} ${name}`);
      show();
      document.querySelector(`#explore-rows input[data-name="${CSS.escape(name)}"]`)?.focus();
    });
    const month = monthOf(name, basis);
    const age = price?.age > 365 ? `, ${Math.round(price.age / 365)} years old` : "";
    const said = own ? "your own price" : price?.missing ?? `${price?.date ?? ""}${age} ${price?.source ?? "not in the price book"}`;
    const lasts = element("small", {}, said.trim());
    return [
      element("td", { class: "n" }, input),
      element("td", { class: "n" }, month === null ? DASH : dollars(month)),
      element("td", { class: own ? "own" : price?.missing ? "warn" : "" }, lasts),
    ];
  };

  const showTable = (state) => {
    const { found, priceless, basis, many } = state;
    const most = Math.max(...found.map((row) => row.high), 0) || 1;
    const body = found.map((row, index) => {
      const first = 1 + row.above;
      const end = found.length - row.below;
      const rank = many ? String(index + 1) : first === end ? String(first) : `${first} ${DASH} ${end}`;
      const ties = row.ties.length ? element("small", { class: "even" }, `= ${row.ties.length > 2 ? `${row.ties.length} ties` : row.ties.join(", ")}`) : "";
      const { vcpus } = configurations.get(row.name);
      return element(
        "tr",
        { "data-name": row.name, "data-first": first, "data-last": end, "data-value": row.value },
        element("td", { class: "n" }, rank, ties),
        element("th", { scope: "row", class: "name" }, row.name),
        element("td", { class: "n" }, written(row.value, state), element("small", {}, row.n === 1 ? "single run" : `${written(row.low, state)} ${DASH} ${written(row.high, state)}`)),
        element("td", {}, bar(row, most)),
        element("td", { class: "n" }, String(row.n)),
        element("td", { class: "n" }, vcpus === null ? DASH : String(vcpus)),
        ...priceCells(row.name, basis),
      );
    });
    const without = priceless.map((name) =>
      element(
        "tr",
        { "data-name": name, class: "priceless" },
        element("td", { class: "n" }, DASH),
        element("th", { scope: "row", class: "name" }, name),
        element("td", { class: "n warn" }, state.view === "dollar" ? "no price" : "no value"),
        element("td"),
        element("td", { class: "n" }, DASH),
        element("td", { class: "n" }, String(configurations.get(name).vcpus ?? DASH)),
        ...priceCells(name, basis),
      ),
    );
    const all = [...body, ...without];
    const folded = all.length < FOLDED_FROM || unfolded ? [] : all.slice(FIRST_ROWS);
    for (const row of folded) row.hidden = true;
    find("rows").replaceChildren(...all);
    find("all").hidden = !folded.length;
    find("all").textContent = `Show ${folded.length} more`;
  };

  const chartOf = ({ board, found, basis, view }) => {
    const points = found.map((row) => ({ ...row, month: monthOf(row.name, basis) })).filter((row) => row.month !== null);
    const level = ({ score, month }) => (view === "dollar" ? score * month : score) / board.divisor;
    const better = (a, b) => (board.higher ? a > b : a < b);
    const drawn = points.map((row) => {
      const ratio = view === "dollar" ? row.month : 1;
      const ends = view === "dollar" ? [ratio / row.high, ratio / row.low] : [row.low, row.high];
      const { provider } = configurations.get(row.name);
      return { name: row.name, month: row.month, level: level(row), low: ends[0], high: ends[1], provider: provider ?? "own",
        front: !points.some((o) => o !== row && o.month <= row.month && !better(level(row), level(o)) && (o.month < row.month || level(o) !== level(row))),
        month_text: dollars(row.month), level_text: significant(level(row)) };
    });
    const providers = [...new Set(data.configurations.map((one) => one.provider ?? "own"))];
    const scale = (range) => ({ domain: providers, range: providers.map((_, index) => range[index % range.length]) });
    const colours = scale(["var(--c1)", "var(--c2)", "var(--c3)", "var(--c4)", "var(--c5)"]);
    const x = { field: "month", type: "quantitative", scale: { zero: false, nice: true }, title: `$ per month, ${basis}   ·   ← cheaper is better`, axis: { format: "$,.0f" } };
    const title = `${unitText(board.unit)}${view === "cpu" ? " per CPU" : ""}`;
    const y = (field) => ({ field, type: "quantitative", scale: { zero: false }, title, axis: { titleAlign: "left", titleX: 0, titleY: -12 } });
    const tooltip = [["name", "configuration"], ["level_text", board.title], ["month_text", "per month"]].map(([field, name]) => ({ field, type: "nominal", title: name }));
    const legend = providers.length > 1 ? { title: null, orient: "bottom", labelColor: "var(--ink)", symbolOpacity: 1 } : null;
    const color = { field: "provider", type: "nominal", scale: colours, legend };
    const shape = { field: "provider", type: "nominal", scale: scale(["circle", "square", "triangle-up", "diamond", "cross"]), legend };
    const named = drawn.filter((row) => row.front).length <= 8 && find("chart").clientWidth > 600;
    return {
      width: "container", height: 340, datasets: { points: drawn }, data: { name: "points" },
      layer: [
        { transform: [{ filter: "datum.front" }], mark: { type: "line", interpolate: "step-after", stroke: "var(--muted)", strokeDash: [4, 3] }, encoding: { x, y: y("level") } },
        { mark: { type: "rule", strokeWidth: 4, opacity: 0.35 }, encoding: { x, y: y("low"), y2: { field: "high" }, color } },
        { mark: { type: "point", filled: true, size: 60, opacity: 1 }, encoding: { x, y: y("level"), color, shape, tooltip } },
        ...(named ? [{ transform: [{ filter: "datum.front" }], mark: { type: "text", align: "left", dx: 7, dy: -7, fontSize: 11, fill: "var(--ink)", limit: 180 }, encoding: { x, y: y("level"), text: { field: "name" } } }] : []),
      ],
    };
  };

  let drawing = Promise.resolve();
  const showChart = (state) => {
    const box = find("chart");
    const spec = chartOf(state);
    const any = spec.datasets.points.length > 0;
    find("front").hidden = !any;
    drawing = drawing
      .then(() => (any ? window.chartLibrary().then(() => window.vegaEmbed(box, spec, { mode: "vega-lite", renderer: "svg", actions: false, ast: true, config, tooltip: { theme: "custom" } })) : null))
      .catch((error) => console.error("explorer", error))
      .then(() => { document.documentElement.dataset.explorer = String(Number(document.documentElement.dataset.explorer ?? 0) + 1); });
  };

  const show = () => {
    const state = rows();
    state.quantity = quantityOf(state);
    const { board, view, basis, found, priceless, many, quantity } = state;
    const label = { plain: unitText(board.unit), cpu: `${unitText(board.unit)} per CPU`, dollar: `$ a month per ${perText(quantity, board.unit)}` }[view];
    find("value").textContent = label;
    showTable(state);
    showChart(state);
    const own = [...edited.keys()].filter((key) => key.startsWith(`${basis} `)).length;
    const parts = [`${found.length} of ${data.configurations.length} configurations, best first`];
    if (priceless.length && view === "dollar") parts.push(`${priceless.length} without a price`);
    if (own) parts.push(`${own} with a price of your own`);
    if (discount()) parts.push(`${discount()} % discount on machines`);
    if (many) parts.push("too many pairs to compute rank ranges here: see ranks.csv");
    find("note").textContent = `${parts.join("; ")}.`;
    find("reset").hidden = !edited.size && !discount();
  };

  // ---- controls ----

  const fill = (name, options) => {
    find(name).replaceChildren(...options.map(([value, text]) => element("option", { value }, text)));
    find(name).closest("label").hidden = !options.length;
  };
  const choices = (key) => {
    const values = [...new Set(data.configurations.map((one) => one[key]).filter((value) => value !== null))];
    values.sort((a, b) => (typeof a === "number" ? a - b : a < b ? -1 : 1));
    return values.length > 1 ? [["", "all"], ...values.map((value) => [String(value), String(value)])] : [];
  };
  const views = () => {
    const board = data.boards[find("board").value];
    const known = [["plain", "performance"], ["cpu", "performance per CPU"], ["dollar", "performance per dollar"]];
    const before = find("view").value;
    const left = known.filter(([view]) => fits(board, view) && (view !== "dollar" || data.bases.length));
    fill("view", left);
    if (left.some(([view]) => view === before)) find("view").value = before;
  };
  fill("board", data.boards.map((board, index) => [String(index), `${board.benchmark}: ${board.title}`]));
  fill("basis", data.bases.map((basis) => [basis, basis]));
  for (const key of ["provider", "family", "vcpus"]) fill(key, choices(key));
  const priced = (basis) => data.configurations.filter((one) => one.prices[basis]?.month).length;
  find("basis").value = [...data.bases].sort((a, b) => priced(b) - priced(a))[0] ?? "";
  views();
  if (priced(basisNow()) && fits(data.boards[0], "dollar")) find("view").value = "dollar";
  for (const name of ["view", "basis", "provider", "family", "vcpus"]) find(name).addEventListener("change", show);
  find("discount").addEventListener("input", show);
  find("board").addEventListener("change", () => {
    views();
    show();
  });
  find("all").addEventListener("click", () => {
    unfolded = true;
    show();
  });
  find("reset").addEventListener("click", () => {
    edited.clear();
    find("discount").value = "";
    show();
  });
  show();
})();
