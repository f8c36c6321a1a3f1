// Numbers and units for people, and elements.
explorer.numbers = (() => {
  const DASH = "\u2013";
  const fixed = (value, decimals) => value.toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
  const significant = (value) => (Number.isFinite(value) ? value.toLocaleString("en", { maximumSignificantDigits: 3 }) : "\u221e");
  // As model/numbers.py writes money: cents, below ten cents up to three significant digits.
  const money = (value) => {
    if (!Number.isFinite(value)) return "\u221e";
    if (value >= 0.095 || value === 0) return fixed(value, 2);
    const small = value.toLocaleString("en", { maximumSignificantDigits: 3 });
    return small.length < 4 ? fixed(value, 2) : small;
  };
  const dollars = (value) => (value === null ? DASH : `$${money(value)}`);
  // As model/numbers.py writes ratios; the ends of an interval have as many decimals as the value that they are of.
  const ratio = (value, of = value) => `${fixed(value, of >= 0.8 && of < 1.25 ? 3 : Math.max(0, 2 - Math.floor(Math.log10(of))))}\u00d7`;
  const counted = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;
  const unitText = (unit) => ({ "1/s": "per second", "1/min": "per minute", "": "" })[unit] ?? unit;

  // Dollars are quoted for a round quantity, so that the cheapest costs at least ten cents: per 1,000 and not for one.
  // Nobody counts single operations a second: rates start at 1,000.
  const quantityOf = (values, board) =>
    [1, 1e3, 1e6].find((many) => many >= board.least && many * Math.min(...values) >= 0.1) ?? 1e9;
  // "1,000 point selects/s", "Gbit/s".
  const perText = (quantity, { counted }) =>
    quantity === 1 && counted.startsWith(" ") ? counted.trim() : `${quantity.toLocaleString("en")}${counted}`;

  // The texts of stored levels are the report's, so that they are written everywhere the same.
  const texts = new WeakMap();
  const textsOf = (levels) => {
    if (!texts.has(levels)) texts.set(levels, new Map(Object.values(levels).flatMap((level) => level.at(-1).map((text, place) => [level[place], text]))));
    return texts.get(levels);
  };
  const scaleOf = (board, view) => (view === "cpu" ? board.per_cpu : board);
  const written = (value, board, view, quantity) => {
    if (view === "dollar") return dollars(quantity * value * board.divisor);
    const stored = textsOf(view === "cpu" ? board.cpu : board.plain).get(value);
    const scaled = value / scaleOf(board, view).divisor;
    return stored ?? fixed(scaled, scaled ? Math.max(0, 3 - Math.floor(Math.log10(Math.abs(scaled)))) : 0);
  };
  const heading = (board, view, quantity) => {
    if (view === "dollar") return `$ a month per ${perText(quantity, board)}`;
    const unit = unitText(scaleOf(board, view).unit);
    const said = [board.title.includes(unit) ? "" : unit, view === "cpu" ? "per CPU" : ""].filter(Boolean).join(" ");
    return said ? `${board.title}, ${said}` : board.title;
  };

  const SVG = "http://www.w3.org/2000/svg";
  const element = (tag, attributes = {}, ...children) => {
    const made = attributes.svg ? document.createElementNS(SVG, tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) if (name !== "svg" && value !== null) made.setAttribute(name, value);
    made.append(...children);
    return made;
  };
  return { DASH, fixed, significant, dollars, ratio, counted, unitText, quantityOf, perText, written, heading, element };
})();
