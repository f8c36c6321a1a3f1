// Runs before the first paint: the colours a reader chose earlier, if any.
(() => {
  try {
    const chosen = localStorage.getItem("nephoscope-colours");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  } catch {
    // A browser may refuse storage to files; colours then follow the system.
  }
  document.documentElement.classList.add("scripted");
})();
