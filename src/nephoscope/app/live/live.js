"use strict";
(() => {
  const EVERY_MS = 2000;
  const SVG = "http://www.w3.org/2000/svg";
  const shown = new Map();

  function made(tag, text, name) {
    const node = document.createElement(tag);
    if (text) node.textContent = text;
    if (name) node.className = name;
    return node;
  }

  function counted(count, noun) {
    return `${count} ${noun}${count === 1 ? "" : "s"}`;
  }

  function list(node, rows, item, none) {
    node.replaceChildren(...(rows.length ? rows.map(item) : [made("li", none, "quiet")]));
  }

  function trial(row) {
    const node = made("li");
    const bad = row.reasons && row.state !== "valid";
    node.append(made("span", row.state, row.state === "valid" ? "good" : bad ? "bad" : ""));
    node.append(` ${row.configuration} · ${row.benchmark} · replicate ${row.replicate}`);
    if (row.took) node.append(` · ${row.took}`);
    if (bad) for (const reason of row.reasons) node.append(made("small", reason));
    return node;
  }

  function bar(row) {
    const node = made("div", "", "bar");
    const name = made("span", row.name);
    name.title = row.name;
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("viewBox", "0 0 100 14");
    svg.setAttribute("preserveAspectRatio", "none");
    svg.setAttribute("aria-hidden", "true");
    const rect = document.createElementNS(SVG, "rect");
    for (const [key, value] of Object.entries({ x: 0, y: 1, width: 100 * row.at, height: 12 })) rect.setAttribute(key, value);
    const line = document.createElementNS(SVG, "line");
    for (const [key, value] of Object.entries({ x1: 100 * row.low, x2: 100 * row.high, y1: 7, y2: 7 })) line.setAttribute(key, value);
    svg.append(rect, line);
    node.append(name, svg, made("span", `${row.value}, n = ${row.n}`));
    return node;
  }

  function card(row) {
    const node = made("div", "", "card");
    node.append(made("h4", row.title), made("p", row.text), ...row.bars.map(bar));
    if (row.more) node.append(made("p", `and ${row.more} more`, "quiet"));
    return node;
  }

  function report(node, said) {
    const parts = [];
    if (said.href) {
      const link = made("a", `Report of ${counted(said.trials, "trial")}`);
      link.href = said.href;
      parts.push(link);
      if (said.newer > 0) parts.push(` (${said.newer} newer)`);
    }
    if (said.drawing) parts.push(parts.length ? "; a new one is being drawn" : "The report is being drawn.");
    else if (said.problem) parts.push(` The report could not be drawn: ${said.problem}`);
    else if (said.held) parts.push(" The next report is drawn when the study ends, as drawing it now would disturb the trials on this machine.");
    else if (!parts.length) parts.push("There is a report once a trial has ended.");
    node.replaceChildren(...parts);
  }

  function study(row) {
    if (!shown.has(row.key)) {
      const node = document.getElementById("study").content.firstElementChild.cloneNode(true);
      document.getElementById("studies").append(node);
      shown.set(row.key, { node, text: "" });
    }
    const known = shown.get(row.key);
    const text = JSON.stringify(row);
    if (known.text === text) return;
    known.text = text;
    const find = (name) => known.node.querySelector(name);
    find("h2").textContent = `${row.title} (${row.name})`;
    find(".problem").hidden = !row.problem;
    find(".problem").textContent = row.problem;
    if (row.problem) return;
    find("progress").max = row.trials || 1;
    find("progress").value = row.ended_count;
    find("progress").setAttribute("aria-label", "trials ended");
    const running = row.in_use ? "running" : row.ended_count < row.trials ? "not running" : "complete";
    find(".words").textContent = [running, `${row.ended_count} of ${counted(row.trials, "trial")} ended`, row.words, row.left, row.spent].filter(Boolean).join("; ");
    report(find(".report"), row.report);
    find(".provisional").hidden = !row.in_use && row.ended_count >= row.trials;
    find(".cards").replaceChildren(...(row.cards.length ? row.cards.map(card) : [made("p", "No valid trial yet.", "quiet")]));
    list(find(".running"), row.running, trial, "none");
    list(find(".refused"), row.refused, trial, "none");
    list(find(".ended"), row.ended, trial, "none yet");
  }

  async function look() {
    const connection = document.getElementById("connection");
    try {
      const answer = await fetch("/api/state");
      if (!answer.ok) throw new Error(`the server said ${answer.status}`);
      const state = await answer.json();
      state.studies.forEach(study);
      connection.textContent = `up to date at ${new Date().toLocaleTimeString()}`;
      connection.className = "";
    } catch (error) {
      connection.textContent = `not up to date: ${error.message}; is nephoscope serve still running?`;
      connection.className = "bad";
    }
    setTimeout(look, document.hidden ? 5 * EVERY_MS : EVERY_MS);
  }
  look();
})();
