// Draws the charts one by one, switches colours, and unfolds the targets of links.
(() => {
  const root = document.documentElement;
  const config = JSON.parse(document.getElementById("chart-config").textContent);

  // A study that runs writes its page again. A page that nobody looks at stays as it is.
  const follow = document.getElementById("follow");
  if (follow) {
    follow.parentElement.hidden = false;
    setInterval(() => follow.checked && !document.hidden && location.reload(), 60000);
  }

  const sized = (width) => ({
    ...config,
    axisX: { ...config.axisX, tickCount: width < 480 ? 4 : 6 },
  });

  // Long parts are packed: gzip in base64. Nothing is loaded.
  const unpacked = (text) => {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  };
  const textOf = async (script) => (script.type === "application/json" ? script.textContent : await unpacked(script.textContent));
  const specificationOf = async (script) => JSON.parse(await textOf(script));

  // By the id of its box: unpacked before anything needs it, as printing cannot wait.
  const specifications = new Map();
  const unpackSpecifications = () =>
    Promise.all([...document.querySelectorAll("script[data-for]")].map(async (script) => specifications.set(script.dataset.for, await textOf(script))));

  const unpackRows = async () => {
    for (const tbody of document.querySelectorAll("tbody[data-rows]"))
      try {
        tbody.innerHTML = await unpacked(tbody.dataset.rows);
        delete tbody.dataset.rows;
      } catch (error) {
        tbody.innerHTML = '<tr><td colspan="9">This browser cannot unpack these rows; they are in the files beside this page.</td></tr>';
        console.error(error);
      }
  };

  // It takes a browser long to run the library, so it waits until the page can be used.
  const idle = () => new Promise((resume) => (window.requestIdleCallback ?? setTimeout)(resume, { timeout: 300 }));
  const runLibrary = () => {
    if (window.vegaEmbed) return;
    const script = document.createElement("script");
    script.textContent = document.getElementById("library").textContent;
    document.head.append(script);
  };
  let library;
  const chartLibrary = () => (library ??= idle().then(runLibrary));

  const draw = async (box) => {
    const specification = JSON.parse(specifications.get(box.id));
    const options = { mode: "vega-lite", renderer: "svg", actions: false, ast: true, config: sized(box.clientWidth), tooltip: { theme: "custom" } };
    const { view } = await window.vegaEmbed(box, specification, options);
    view.addEventListener("click", (_, item) => {
      const row = item?.datum?.trial && `trial-${item.datum.trial}`;
      if (row) location.href = `${document.getElementById("trials") ? "" : "evidence.html"}#${row}`;
    });
  };

  const distance = (box) => {
    const { top, bottom } = box.getBoundingClientRect();
    return Math.max(0, top - innerHeight, -bottom);
  };

  const drawn = async (box) => {
    try {
      await draw(box);
    } catch (error) {
      box.textContent = "This chart could not be drawn; its data is in the table below.";
      console.error(box.id, error);
    }
  };

  // Charts that came as pictures fit the window and answer the pointer once a reader gets there.
  const seen = new IntersectionObserver(async (entries) => {
    const boxes = entries.filter((entry) => entry.isIntersecting).map((entry) => entry.target);
    for (const box of boxes) seen.unobserve(box);
    if (boxes.length) await chartLibrary();
    for (const box of boxes) await drawn(box);
  }, { rootMargin: "200px" });
  const observeAll = () => {
    for (const box of document.querySelectorAll(".drawing:not(:empty)")) seen.observe(box);
  };
  const waiting = () => [...document.querySelectorAll(".drawing:empty")].filter((box) => !box.closest(".order-fold:not([open])"));

  // The nearest first: a reader may have jumped meanwhile.
  const drawAll = async () => {
    if (waiting().length) await chartLibrary();
    for (let boxes = waiting(); boxes.length; boxes = waiting()) {
      await drawn(boxes.reduce((near, other) => (distance(other) < distance(near) ? other : near)));
      await idle();
    }
    root.dataset.charts = "drawn";
  };
  // A chart without a width cannot be drawn, so folded ones wait.
  for (const fold of document.querySelectorAll(".order-fold"))
    fold.addEventListener("toggle", async () => {
      await chartLibrary();
      for (const box of fold.querySelectorAll(".drawing:empty")) await drawn(box);
    }, { once: true });

  // The record of a trial is below its row once a reader asks for it.
  let records;
  const element = (tag, text, ...inside) => {
    const made = document.createElement(tag);
    made.textContent = text;
    made.append(...inside);
    return made;
  };
  const pairs = (title, rows) => {
    if (!rows?.length) return [];
    const list = element("dl", "");
    for (const [name, text] of rows) list.append(element("div", "", element("dt", name), element("dd", text)));
    return [element("h4", title), list];
  };
  const counted = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
  const recordOf = (id) => {
    const found = records.trials[id] ?? {};
    const files = found.files?.map(([name, bytes, digest]) => [`${name}, ${counted(bytes, "byte")}`, digest]);
    const more = found.more ? [element("p", `${counted(found.more, "more number")} ${found.more === 1 ? "is" : "are"} in measurements.csv.`)] : [];
    return [
      ...pairs("Verdict", found.verdict?.map((text) => ["", text])),
      ...pairs("Numbers", found.numbers?.map(([place, text]) => [records.metrics[place], text])),
      ...more,
      ...(found.machines ?? []).flatMap((place) => pairs("Machine before the trial", records.machines[place])),
      ...pairs("Raw output, SHA-256", files),
      ...(found.folder ? [element("p", `In the folder of the results: ${found.folder}`)] : []),
    ];
  };
  const openRecord = async (row) => {
    records ??= await specificationOf(document.getElementById("trial-records"));
    if (row.nextElementSibling?.matches(".record")) return;
    const cell = element("td", "", ...recordOf(row.id.slice("trial-".length)));
    cell.colSpan = row.cells.length;
    const below = element("tr", "", cell);
    below.className = "record";
    row.after(below);
  };
  document.getElementById("trial-list")?.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#trial-"]');
    const row = link?.closest("tr");
    if (!row || link.getAttribute("href") !== `#${row.id}`) return;
    event.preventDefault();
    if (row.nextElementSibling?.matches(".record")) row.nextElementSibling.remove();
    else openRecord(row);
  });

  const unfold = (tbody) => {
    tbody.hidden = true;
    tbody.nextElementSibling.classList.add("open");
  };
  for (const button of document.querySelectorAll(".unfold button"))
    button.addEventListener("click", () => {
      const tbody = button.closest("tbody");
      unfold(tbody);
      const first = tbody.nextElementSibling.querySelector("th, td");
      first.tabIndex = -1;
      first.focus({ preventScroll: true });
    });

  const open = () => {
    const anchor = decodeURIComponent(location.hash.slice(1).split("?")[0]);
    const target = anchor ? document.getElementById(anchor) : null;
    for (let at = target; at; at = at.parentElement) {
      if (at.tagName === "DETAILS") at.open = true;
      if (at.matches("tbody.more")) unfold(at.previousElementSibling);
    }
    if (target && target.matches("#trial-list tr")) openRecord(target);
    if (target) target.scrollIntoView({ block: target.tagName === "TR" ? "center" : "start" });
  };
  addEventListener("hashchange", open);
  addEventListener("beforeprint", () => {
    for (const fold of document.querySelectorAll("main details")) if (!fold.closest("figure") && !fold.matches(".order-fold")) fold.open = true;
    // Nothing that is drawn waits for a timer or a file, so charts are complete before the browser makes its pages.
    const boxes = root.dataset.charts ? waiting() : [];
    if (boxes.length) runLibrary();
    for (const box of boxes) drawn(box);
  });

  const names = { "": "Auto", light: "Light", dark: "Dark" };
  const button = document.getElementById("theme");
  const label = () => {
    const now = root.dataset.theme ?? "";
    button.textContent = names[now];
    button.setAttribute("aria-label", `Colours: ${names[now].toLowerCase()}; change`);
  };
  button.addEventListener("click", () => {
    const order = ["", "dark", "light"];
    const next = order[(order.indexOf(root.dataset.theme ?? "") + 1) % order.length];
    if (next) root.dataset.theme = next;
    else delete root.dataset.theme;
    try {
      if (next) localStorage.setItem("nephoscope-colours", next);
      else localStorage.removeItem("nephoscope-colours");
    } catch {
      // See theme.js.
    }
    label();
  });
  button.hidden = false;
  label();

  if (matchMedia("(max-width: 1179px)").matches) document.querySelector(".contents-fold").open = false;
  unpackSpecifications()
    .then(() => (root.dataset.charts = "unpacked"))
    .then(observeAll)
    .then(unpackRows)
    .then(drawAll)
    .then(open);
})();
