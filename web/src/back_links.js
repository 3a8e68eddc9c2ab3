// Links to the list of runs and to comparisons, where this page lies in a site: served, or among its files.

export function wireBackLinks() {
  for (const link of document.querySelectorAll("[data-in-site]")) {
    const [test, run] = link.dataset.inSite.split("/");
    const names = location.pathname.split("/").slice(-4).map(decode);
    link.hidden = names[0] !== "runs" || names[1] !== test || names[2] !== run;
  }
}

function decode(name) {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
