// Two to five pinned configurations side by side, each compared with the first by the stored intervals.
explorer.pinned = (model, find, change) => {
  const { DASH, dollars, written, heading, ratio, element, quantityOf, significant } = explorer.numbers;
  const VERDICTS = { better: ["\u25b2", "better", "good"], worse: ["\u25bc", "worse", "bad"], tie: ["=", "tie", "even"], open: ["?", "not decided", "doubt"] };

  const month = (one, state) => {
    const usd = model.monthOf(one, state);
    return usd === null ? "no price" : dollars(usd);
  };
  const facts = (state) => [
    ["Provider", (one) => model.sellerOf(one.provider)],
    ["Region", (one) => one.region],
    ["Machine type", (one) => one.type],
    ["Architecture", (one) => one.cpu],
    ["vCPUs", (one) => one.vcpus],
    ["Memory", (one) => one.gib && `${significant(one.gib)} GiB`],
    ["Storage", (one) => one.storage],
    ...model.LABELS.map(({ label, key }) => [label, (one) => one[key]]),
    ...(model.data.bases.length ? [[`A month, ${model.data.basis_texts[state.basis]}`, (one) => month(one, state)]] : []),
  ];

  const against = (board, view, one, first, state) => {
    const found = model.pair(board, view, one, first, state);
    const [sign, word, tone] = VERDICTS[model.verdict(found)];
    const badge = element("span", { class: `badge ${tone}` }, element("span", { class: "sign", "aria-hidden": "true" }, sign), ` ${word}`);
    if (!found) return badge;
    const factor = Math.exp((model.lessIsBetter(board, view) ? -1 : 1) * found.estimate);
    badge.append(element("span", { class: "rest" }, ` ${ratio(factor)}`));
    return badge;
  };

  const measuredRow = (board, view, chosen, state) => {
    const values = chosen.map((one) => model.valueOf(board, view, one, state)?.value ?? null);
    if (values.every((value) => value === null)) return null;
    const quantity = quantityOf(values.filter((value) => value !== null).map((value) => value * board.divisor), board);
    const cells = chosen.map((one, place) => {
      const value = values[place];
      if (value === null) return element("td", { class: "n" }, DASH);
      const cell = element("td", { class: "n" }, written(value, board, view, quantity));
      if (place && values[0] !== null) cell.append(against(board, view, one, chosen[0], state));
      return cell;
    });
    return element("tr", {}, element("th", { scope: "row" }, `${board.of}${heading(board, view, quantity)}`), ...cells);
  };

  const priceRow = (chosen, state) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, "Price of one machine, $ an hour"),
      ...chosen.map((one) => {
        const price = one.prices[state.basis];
        const input = element("input", {
          type: "number", min: "0", step: "any", value: model.rateOf(one, state) ?? "", placeholder: "none",
          "data-price": one.name, "aria-label": `Dollars an hour for one machine of ${one.called}`,
        });
        input.disabled = !price || price.volumes === null;
        input.addEventListener("change", () => {
          const { [one.name]: _, ...others } = state.prices;
          const rate = Number(input.value);
          change({ prices: rate > 0 && rate !== price.rate ? { ...others, [one.name]: rate } : others });
          find("pinned").querySelector(`[data-price="${CSS.escape(one.name)}"]`)?.focus();
        });
        return element("td", { class: "n" }, input, element("small", {}, one.name in state.prices ? "your own price" : ""));
      }),
    );

  const show = ({ state }) => {
    const chosen = state.pins.map(model.find);
    find("pinned").hidden = chosen.length < 2;
    if (chosen.length < 2) return;
    const names = chosen.map((one) => {
      const drop = element("button", { type: "button", class: "quiet", "aria-label": `Unpin ${one.called}` }, "unpin");
      drop.addEventListener("click", () => change({ pins: state.pins.filter((name) => name !== one.name) }));
      return element("th", { scope: "col", class: "n" }, one.called, " ", drop);
    });
    const about = facts(state)
      .map(([title, of]) => [title, chosen.map(of)])
      .filter(([, values]) => values.some((value) => value !== null && value !== undefined))
      .map(([title, values]) => {
        const cells = values.map((value) => element("td", { class: "n" }, String(value ?? DASH)));
        return element("tr", {}, element("th", { scope: "row" }, title), ...cells);
      });
    if (model.data.bases.length) about.push(priceRow(chosen, state));
    const boards = model.data.boards.flatMap((board) => [
      measuredRow(board, "plain", chosen, state),
      model.fits(board, "dollar") ? measuredRow(board, "dollar", chosen, state) : null,
    ]);
    find("pinned-head").replaceChildren(element("td"), ...names);
    find("pinned-rows").replaceChildren(...about, ...boards.filter(Boolean));
  };
  return { show };
};
