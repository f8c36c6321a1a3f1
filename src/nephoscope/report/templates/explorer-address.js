// The state of the explorer in the address: `#explore?provider=aws&month=300`. Only what differs from the start is there.
explorer.address = (start, model) => {
  const MARK = "#explore?";
  const MAX_PINS = 5;
  const numbers = ["month", "least", "gib", "discount"];

  const cleaned = (state) => {
    const { data, boards } = model;
    const board = boards.has(state.board) ? state.board : start.board;
    const offered = Object.fromEntries(model.CHOICES.map((key) => [key, data.configurations.some((one) => one[key] === state[key]) ? state[key] : ""]));
    const percent = Math.min(99.9, Math.max(0, state.discount || 0));
    return {
      ...state,
      ...offered,
      vcpus: /^\d+\+?$/.test(state.vcpus) ? state.vcpus : "",
      board,
      view: model.fits(boards.get(board), state.view) ? state.view : "plain",
      basis: data.bases.includes(state.basis) ? state.basis : start.basis,
      scale: ["absolute", "relative", "log"].includes(state.scale) ? state.scale : start.scale,
      sort: model.SORTS.includes(state.sort) ? state.sort : start.sort,
      discount: percent,
      pins: [...new Set(state.pins)].filter(model.find).slice(0, MAX_PINS),
      page: Math.max(0, Math.floor(state.page) || 0),
    };
  };

  const read = () => {
    if (!location.hash.startsWith(MARK)) return null;
    const said = new URLSearchParams(location.hash.slice(MARK.length));
    const state = { ...start, pins: said.getAll("pin"), prices: {} };
    for (const [key, value] of said) {
      if (key === "sort") [state.sort, state.reverse] = [value.replace(/^-/, ""), value.startsWith("-")];
      else if (key === "page") state.page = Number(value) - 1;
      else if (key === "price") {
        const at = value.lastIndexOf(":");
        const rate = Number(value.slice(at + 1));
        if (rate > 0 && model.find(value.slice(0, at))) state.prices[value.slice(0, at)] = rate;
      } else if (numbers.includes(key)) state[key] = Math.max(0, Number(value)) || 0;
      else if (typeof start[key] === "string") state[key] = value;
    }
    return cleaned(state);
  };

  const write = (state) => {
    const said = new URLSearchParams();
    for (const [key, value] of Object.entries(state)) {
      if (key === "pins") for (const name of value) said.append("pin", name);
      else if (key === "prices") for (const [name, rate] of Object.entries(value)) said.append("price", `${name}:${rate}`);
      else if (key === "sort" || key === "reverse") continue;
      else if (key === "page") value && said.set("page", value + 1);
      else if (value !== start[key]) said.set(key, value);
    }
    if (state.sort !== start.sort || state.reverse) said.set("sort", `${state.reverse ? "-" : ""}${state.sort}`);
    history.replaceState(history.state, "", said.size ? `${MARK}${said}` : "#explore");
  };

  return { read, write, cleaned, MAX_PINS };
};
