// What the explorer knows and computes: prices, values, which pairs are decided, ranks. Nothing here touches the page.
const explorer = {};

explorer.model = (data) => {
  const places = new Map(data.configurations.map((one, place) => [one.name, place]));
  const boards = new Map(data.boards.map((board) => [board.name, board]));
  const SHORT_OF_SOLD = 0.9; // a system shows up to a tenth less memory than is sold

  // ---- prices ----

  const rateOf = (one, state) => state.prices[one.name] ?? one.prices[state.basis]?.rate ?? null;
  // Of what a board's benchmark measures; without a board, of the whole configuration.
  const monthOf = (one, state, board) => {
    const price = one.prices[state.basis] ?? Object.values(one.prices)[0];
    const rate = rateOf(one, state);
    if (!price || rate === null || price.volumes === null) return null;
    const part = price.divisible ? board?.measures : null;
    const volumes = part && !part.volumes ? 0 : price.volumes;
    return (part?.machines ?? price.machines) * (price.hours * rate * (1 - state.discount / 100) + volumes);
  };
  const asListed = (state) => !state.discount && !Object.keys(state.prices).length;

  // ---- values: [level, low, high, n, coverage] in the unit of the view; dollars are for one unit ----

  const fits = (board, view) =>
    view === "plain" || (view === "cpu" ? Object.keys(board.cpu).length > 0 : board.higher && data.bases.length > 0);
  const valueOf = (board, view, one, state) => {
    const found = view === "cpu" ? board.cpu[one.name] : board.plain[one.name];
    if (!found) return null;
    const [level, low, high, n, coverage] = found;
    if (view !== "dollar") return { value: level, low, high, n, coverage };
    const month = monthOf(one, state, board);
    return month === null || level <= 0 ? null : { value: month / level, low: month / high, high: low > 0 ? month / low : Infinity, n, coverage };
  };
  const lessIsBetter = (board, view) => view === "dollar" || !board.higher;

  // ---- pairs: the stored simultaneous intervals, moved by what the view divides by ----

  const unpacked = new Map();
  const intervalsOf = (board) => {
    if (!board.intervals) return null;
    if (!unpacked.has(board.name)) {
      const { configurations, powers, least } = board.intervals;
      const halves = powers.map((power) => (power === null ? Infinity : least * data.step ** power));
      unpacked.set(board.name, { at: new Map(configurations.map((name, place) => [name, place])), halves, count: configurations.length });
    }
    return unpacked.get(board.name);
  };
  const shiftOf = (board, view, one, state) => {
    if (view === "plain") return 0;
    const by = view === "cpu" ? board.cpu[one.name]?.[5] : monthOf(one, state, board);
    return by ? (board.higher ? -1 : 1) * Math.log(by) : null;
  };
  const placed = (board, view, one, state) => ({ at: intervalsOf(board)?.at.get(one.name), shift: shiftOf(board, view, one, state) });
  // On logarithms, higher is better: by how much `left` is above `right`, at least and at most; null if not known.
  const gapOf = (board, left, right) => {
    if (left.at === undefined || right.at === undefined || left.at === right.at || left.shift === null || right.shift === null) return null;
    const known = intervalsOf(board);
    const [i, j] = [Math.min(left.at, right.at), Math.max(left.at, right.at)];
    const half = known.halves[i * known.count - (i * (i + 1)) / 2 + j - i - 1];
    const { levels, signs } = board.intervals;
    const [gap, moved] = [levels[left.at] - levels[right.at], left.shift - right.shift];
    if (!signs) return { estimate: gap + moved, low: gap + moved - half, high: gap + moved + half };
    const decided = half !== Infinity;
    return { estimate: gap + moved, low: decided && gap > 0 ? moved : -Infinity, high: decided && gap < 0 ? moved : Infinity, signs };
  };
  const pair = (board, view, left, right, state) => gapOf(board, placed(board, view, left, state), placed(board, view, right, state));
  const verdict = (found) => {
    if (!found) return "open";
    const zero = found.signs ? 0 : Number.MIN_VALUE;
    if (found.low >= zero) return "better";
    if (-found.high >= zero) return "worse";
    return found.low >= -data.margin && found.high <= data.margin ? "tie" : "open";
  };

  // ---- ranks among the rows shown; what the analysis answered for exactly these rows comes first ----

  const storedOf = (table, state) => {
    if (state.view !== "dollar") return table[state.view];
    return asListed(state) ? table[`dollar ${state.basis}`] : undefined;
  };
  const known = (board, rows) => rows.filter((row) => row.value !== null && !board.unknown.includes(row.one.name));
  const mayBeBest = (board, rows, state) => {
    const ranked = rows.filter((row) => row.value !== null);
    for (const [scope, [count, names]] of Object.entries(storedOf(board.best, state) ?? {}))
      if (ranked.length === count && ranked.every((row) => data.scopes[scope]?.includes(row.one.name))) return ranked.filter((row) => names.includes(row.one.name));
    return known(board, rows).filter((row) => row.first === 1);
  };
  const rank = (board, rows, state) => {
    const ranked = rows.filter((row) => row.value !== null);
    const stored = storedOf(board.ranks, state);
    const whole = stored && ranked.length === Object.keys(stored).length && ranked.every((row) => stored[row.one.name]);
    for (const row of ranked) Object.assign(row, { first: 1, last: ranked.length, ties: [] });
    const at = ranked.map((row) => placed(board, state.view, row.one, state));
    for (let i = 0; i < ranked.length; i++)
      for (let j = i + 1; j < ranked.length; j++) {
        const said = verdict(gapOf(board, at[i], at[j]));
        if (said === "tie") {
          ranked[i].ties.push(ranked[j].one.name);
          ranked[j].ties.push(ranked[i].one.name);
        } else if (said !== "open") {
          const [winner, loser] = said === "better" ? [ranked[i], ranked[j]] : [ranked[j], ranked[i]];
          winner.last--;
          loser.first++;
        }
      }
    if (whole) for (const row of ranked) [row.first, row.last] = stored[row.one.name];
  };

  // ---- rows ----

  const LABELS = data.labels.map((label) => ({ label, key: `label-${label}` }));
  const sellerOf = (provider) => data.providers[provider] ?? provider;
  const textOf = (one) => [one.name, one.called, one.provider, sellerOf(one.provider), one.region, one.type, one.family, one.cpu, one.storage, ...LABELS.map(({ key }) => one[key])].join(" ").toLowerCase();
  const CHOICES = ["provider", "region", "family", "cpu", "storage", ...LABELS.map(({ key }) => key)];
  const wanted = (one, state) =>
    CHOICES.every((key) => !state[key] || one[key] === state[key]) &&
    (!state.vcpus || (state.vcpus.endsWith("+") ? one.vcpus >= parseInt(state.vcpus) : one.vcpus === Number(state.vcpus))) &&
    (!state.gib || one.gib >= SHORT_OF_SOLD * state.gib) &&
    state.search.toLowerCase().split(/\s+/).every((word) => textOf(one).includes(word));

  const rowOf = (board, one, state) => {
    const found = valueOf(board, state.view, one, state);
    const performance = board.plain[one.name][0];
    return {
      one, performance, month: monthOf(one, state, board),
      dollars: board.higher ? (valueOf(board, "dollar", one, state)?.value ?? null) : null,
      ...(found ?? { value: null, low: null, high: null, n: board.plain[one.name][3] }),
    };
  };
  const passes = (board, row, state) => {
    if (state.month && !(row.month !== null && row.month <= state.month)) return false;
    if (!state.least) return true;
    const limit = state.least * board.divisor;
    return board.higher ? row.performance >= limit : row.performance <= limit;
  };

  const KEYS = {
    rank: (row) => row.value,
    name: (row) => row.one.called,
    performance: (row) => row.performance,
    vcpus: (row) => row.one.vcpus,
    gib: (row) => row.one.gib,
    month: (row) => row.month,
    dollars: (row) => row.dollars,
  };
  // What a first click on a column means: the smallest first, or the best first.
  const direction = (board, state) => {
    const best = { rank: lessIsBetter(board, state.view) ? 1 : -1, performance: board.higher ? -1 : 1 };
    return (best[state.sort] ?? 1) * (state.reverse ? -1 : 1);
  };
  const sorted = (board, rows, state) => {
    const [key, sign] = [KEYS[state.sort], direction(board, state)];
    const compare = (a, b) => (a === b ? 0 : a === null ? 1 : b === null ? -1 : sign * (a < b ? -1 : 1));
    const number = (value) => (value === undefined ? null : value);
    return rows.sort((a, b) => compare(number(key(a)), number(key(b))) || (a.one.name < b.one.name ? -1 : 1));
  };

  const rowsOf = (state) => {
    const board = boards.get(state.board);
    const measured = data.configurations.filter((one) => board.plain[one.name]);
    const rows = measured
      .filter((one) => wanted(one, state))
      .map((one) => rowOf(board, one, state))
      .filter((row) => passes(board, row, state));
    rank(board, rows, state);
    return { board, measured, rows: sorted(board, rows, state) };
  };

  const find = (name) => data.configurations[places.get(name)];
  const prices = { rateOf, monthOf };
  const pairs = { pair, verdict, known, mayBeBest };
  return { data, boards, find, sellerOf, CHOICES, LABELS, SORTS: Object.keys(KEYS), fits, direction, lessIsBetter, rowsOf, valueOf, ...prices, ...pairs };
};
