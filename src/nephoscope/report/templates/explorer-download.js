// The rows shown, as CSV for spreadsheets: numbers unrounded, in the units in which they are stored.
explorer.csv = (() => {
  // A spreadsheet runs a cell that begins like this as a formula; an apostrophe makes it text. Numbers need none.
  const FORMULA = /^[=+\-@\t\r]/;
  const text = (value) => {
    const safe = FORMULA.test(value) ? `'${value}` : value;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  const cell = (value) => (value === null || value === undefined ? "" : typeof value === "number" ? (Number.isFinite(value) ? String(value) : "") : text(String(value)));

  return ({ board, rows, state }, labels) => {
    const ranked = rows.filter((row) => row.value !== null).length;
    const unit = { plain: board.stored_unit, cpu: `${board.stored_unit} per CPU`, dollar: `USD a month per ${board.stored_unit}` }[state.view];
    const columns = {
      configuration: (row) => row.one.name,
      provider: (row) => row.one.provider,
      region: (row) => row.one.region,
      machine_type: (row) => row.one.type,
      family: (row) => row.one.family,
      architecture: (row) => row.one.cpu,
      vcpus: (row) => row.one.vcpus,
      memory_gib: (row) => row.one.gib,
      storage: (row) => row.one.storage,
      ...Object.fromEntries(labels.map(({ key }) => [key.replace("-", "_"), (row) => row.one[key]])),
      benchmark: () => board.benchmark,
      metric: () => board.title,
      unit: () => unit,
      value: (row) => row.value,
      low: (row) => row.low,
      high: (row) => row.high,
      n: (row) => row.n,
      coverage: (row) => (row.n > 1 ? row.coverage : null),
      first_rank: (row) => (row.value === null ? null : row.first),
      last_rank: (row) => (row.value === null ? null : row.last),
      ranked: () => ranked,
      price_basis: (row) => (row.month === null ? null : state.basis),
      discount_percent: (row) => (row.month === null ? null : state.discount),
      usd_per_month: (row) => row.month,
      usd_per_month_per_unit: (row) => row.dollars,
    };
    const lines = rows.map((row) => Object.values(columns).map((of) => cell(of(row))).join(","));
    return [Object.keys(columns).join(","), ...lines, ""].join("\r\n");
  };
})();

explorer.download = (seen, labels) => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([explorer.csv(seen, labels)], { type: "text/csv;charset=utf-8" }));
  link.download = `${seen.board.name.replace(/[^A-Za-z0-9._-]+/g, "-")}.csv`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
};
