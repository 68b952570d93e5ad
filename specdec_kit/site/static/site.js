// What scrolls can be reached by keyboard.
for (const block of document.querySelectorAll("pre, .table-wrapper, .output")) {
  if (block.scrollWidth > block.clientWidth) block.tabIndex = 0;
}

// Search shows a few words around each hit, which it fetches from the pages: a plain folder allows no page to do that.
DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = location.protocol !== "file:";

// Two parts of a page are asides: their names tell them apart.
for (const [part, name] of [["sidebar-drawer", "Course"], ["toc-drawer", "On this page"]]) {
  document.querySelector(`.${part}`)?.setAttribute("aria-label", name);
}
