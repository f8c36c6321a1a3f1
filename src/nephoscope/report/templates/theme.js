// Runs before the first paint: applies the colours that the reader chose earlier, if any.
(() => {
  try {
    const chosen = localStorage.getItem("nephoscope-colours");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  } catch {
    // Browsers may refuse local storage for files; colours then follow the system.
  }
  document.documentElement.classList.add("scripted");
})();
