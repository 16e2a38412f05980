// Draws the table of pairs, filters it, and tells the curves' values under the pointer. Every text
// goes into the page as text (textContent), never as markup.
"use strict";
(() => {
  const PAGE = 100; // rows drawn at once
  const ALWAYS = ["semantic_prs", "semantic", "causal", "hybrid_causal"]; // arms with a column
  const data = JSON.parse(document.getElementById("data").textContent);
  const find = (selector, within = document) => within.querySelector(selector);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  function element(tag, className, ...children) {
    const made = document.createElement(tag);
    if (className) made.className = className;
    made.append(...children);
    return made;
  }

  // ---- tickets

  const ADDRESS = /^([\w.-]+\/[\w.-]+)#(\d+)$/;

  function reference(place) {
    const [ref, kind] = data.tickets[place];
    const name = { i: "issue ", p: "PR " }[kind] || "";
    const match = ADDRESS.exec(ref);
    if (!match || match[1].startsWith("demo/")) // the demo's repository is nowhere to go to
      return element("span", "ref", name + ref);
    const link = element("a", "", name + ref);
    link.href = `https://github.com/${match[1]}/issues/${match[2]}`;
    link.rel = "noreferrer";
    return element("span", "ref", link);
  }

  const title = (place) => element("bdi", "", data.tickets[place][2]);

  // ---- what is asked of the table

  const form = find("#filters");
  const index = (names, key) => Math.max(0, names.findIndex(([name]) => name === key));
  const haystacks = data.pairs.map(([issue, query, pr]) =>
    [query, data.tickets[issue][0], data.tickets[issue][2], data.tickets[pr][0], data.tickets[pr][2]]
      .join("\n").toLowerCase());

  function options(select, pairs) {
    select.replaceChildren(...pairs.map(([key, text]) => new Option(text, key)));
  }

  function asked() {
    return {
      words: form.q.value.toLowerCase().split(/\s+/).filter(Boolean),
      protocol: index(data.protocols, form.protocol.value),
      arm: index(data.arms, form.arm.value),
      show: form.show.value,
    };
  }

  function fits(place, { words, protocol, arm, show }) {
    const [, , , ranks, misses] = data.pairs[place];
    if (!words.every((word) => haystacks[place].includes(word))) return false;
    if (show === "all") return true;
    if (!ranks[protocol]) return false;
    const rank = ranks[protocol][arm];
    if (show === "found") return rank > 0;
    if (show === "missed") return rank === 0;
    const miss = (misses[protocol] || {})[arm];
    return rank === 0 && Boolean(miss) && data.reasons[miss[0]][0] === show;
  }

  // ---- rows

  const table = find("#rows");
  const body = find("tbody", table);
  const more = find("#more");
  let found = [];
  let drawn = 0;

  function columns(question) {
    const shown = ALWAYS.map((key) => data.arms.findIndex(([arm]) => arm === key)).filter((at) => at >= 0);
    if (!shown.includes(question.arm)) shown.push(question.arm);
    return shown;
  }

  const rankCell = (rank, className) => rank === null
    ? element("td", className, "not asked")
    : element("td", className + (rank ? "" : " miss"), rank ? String(rank) : "–");

  function row(place, question) {
    const [issue, query, pr, ranks] = data.pairs[place];
    const opener = element("button", "opener", element("bdi", "", query));
    opener.type = "button";
    opener.setAttribute("aria-expanded", "false");
    const made = element("tr", "pair",
      element("td", "text", opener, reference(issue)),
      element("td", "text", title(pr), reference(pr)),
      ...columns(question).map((arm) => {
        const className = arm === question.arm ? "chosen" : "other";
        return ranks[question.protocol]
          ? rankCell(ranks[question.protocol][arm], className)
          : element("td", className, "not asked");
      }));
    opener.addEventListener("click", () => {
      const open = opener.getAttribute("aria-expanded") === "true";
      opener.setAttribute("aria-expanded", String(!open));
      if (open) made.nextElementSibling.remove();
      else made.after(element("tr", "detail", detail(place, made.cells.length, question.protocol)));
    });
    return made;
  }

  // The ranks under every protocol, and the misses under the one that the table shows.
  function detail(place, width, protocol) {
    const [, , , ranks, misses] = data.pairs[place];
    const asked = data.protocols.map((_, at) => at).filter((at) => ranks[at]);
    const head = element("tr", "", element("th"), ...asked.map((at) => element("th", "", data.protocols[at][1])));
    const lines = data.arms.map(([, name], arm) =>
      element("tr", "", element("th", "", name), ...asked.map((at) => rankCell(ranks[at][arm], ""))));
    const cell = element("td", "", element("div", "scroll",
      element("table", "", element("thead", "", head), element("tbody", "", ...lines))));
    for (const { names, reason, rank, instead } of reasons(misses[protocol] || {})) {
      cell.append(element("div", "why",
        element("b", "", `${data.protocols[protocol][1]}, missed by ${names.join("; ")}: `),
        data.reasons[reason][1] + (rank ? `, at rank ${rank}` : "") + (instead.length ? ". First came:" : ""),
        element("ul", "", ...instead.map((ticket) =>
          element("li", "", reference(ticket), " ", title(ticket))))));
    }
    cell.colSpan = width;
    return cell;
  }

  // Arms that missed in the same way, with the same tickets instead, are told together.
  function reasons(misses) {
    const groups = new Map();
    for (const [arm, miss] of Object.entries(misses)) {
      const key = miss.join();
      if (!groups.has(key)) groups.set(key, { names: [], reason: miss[0], rank: miss[1], instead: miss.slice(2) });
      groups.get(key).names.push(data.arms[arm][1]);
    }
    return groups.values();
  }

  function drawMore() {
    const question = asked();
    body.append(...found.slice(drawn, drawn + PAGE).map((place) => row(place, question)));
    drawn = Math.min(found.length, drawn + PAGE);
    more.hidden = drawn === found.length;
    more.textContent = `Show ${Math.min(PAGE, found.length - drawn)} more of ${found.length - drawn}`;
  }

  function draw() {
    const question = asked();
    found = data.pairs.map((_, place) => place).filter((place) => fits(place, question));
    drawn = 0;
    body.replaceChildren();
    find("thead tr", table).replaceChildren(
      element("th", "", "issue"), element("th", "text", "PR that fixed it"),
      ...columns(question).map((arm) =>
        element("th", arm === question.arm ? "chosen" : "other", data.arms[arm][1])));
    find("#found").textContent =
      `${found.length} of ${data.pairs.length} pairs · ranks: ${data.protocols[question.protocol][1]}`;
    drawMore();
  }

  // ---- the address keeps the filter, so that a view can be passed on

  const fields = ["q", "protocol", "arm", "show"];

  function remember() {
    const kept = new URLSearchParams(fields.map((name) => [name, form[name].value]));
    try {
      history.replaceState(null, "", "#" + kept);
    } catch { /* some viewers forbid it; the filter works all the same */ }
  }

  function recall() {
    const hash = location.hash.slice(1);
    if (!hash.includes("=")) return false;
    const kept = new URLSearchParams(hash);
    form.q.value = kept.get("q") || "";
    for (const name of fields.slice(1)) {
      if (all("option", form[name]).some((option) => option.value === kept.get(name))) {
        form[name].value = kept.get(name);
      }
    }
    return true;
  }

  function start() {
    options(form.protocol, data.protocols);
    options(form.arm, data.arms);
    options(form.show, [["all", "all pairs"], ["found", "found"], ["missed", "missed"],
      ...data.reasons.map(([key, sentence]) => [key, `missed: ${sentence}`])]);
    if (data.protocols.some(([key]) => key === "leave-one-out")) form.protocol.value = "leave-one-out";
    if (data.arms.some(([key]) => key === "causal")) form.arm.value = "causal";
    form.hidden = table.hidden = false;
    let waiting;
    form.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => { draw(); remember(); }, 120);
    });
    form.addEventListener("submit", (event) => event.preventDefault());
    more.addEventListener("click", drawMore);
    window.addEventListener("hashchange", () => {
      if (!recall()) return;
      draw();
      find("#pairs").scrollIntoView({ behavior: "instant" });
    });
    const linked = recall();
    draw();
    if (linked) find("#pairs").scrollIntoView({ behavior: "instant" });
  }

  // ---- break-downs: one protocol at a time

  function tabs() {
    const buttons = all("[data-tab]");
    const show = (key) => {
      buttons.forEach((button) => button.setAttribute("aria-pressed", String(button.dataset.tab === key)));
      all("[data-panel]").forEach((panel) => { panel.hidden = panel.dataset.panel !== key; });
    };
    buttons.forEach((button) => button.addEventListener("click", () => show(button.dataset.tab)));
    if (buttons.length === 0) return;
    const preferred = buttons.find((button) => button.dataset.tab === "leave-one-out") || buttons[0];
    find(".tabs").hidden = false;
    all(".panel-title").forEach((heading) => { heading.hidden = true; });
    show(preferred.dataset.tab);
  }

  // ---- curves: the values at the budget under the pointer

  function curves(figure) {
    const values = data.curves[figure.dataset.curves];
    const svg = find("svg", figure);
    const tip = find(".tip", figure);
    const deepest = Object.values(values)[0].length;
    const [left, top, width, height] = [38, 12, 370, 200]; // the chart's frame, as drawn
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect();
      const along = ((event.clientX - box.left) / box.width * 420 - left) / width;
      const budget = Math.max(1, Math.min(deepest, Math.round(deepest ** along)));
      const x = left + width * Math.log(budget) / Math.log(deepest);
      find(".pointer", svg).setAttribute("d", `M${x} ${top}V${top + height}`);
      tip.replaceChildren(element("b", "", `k = ${budget}`), ...Object.entries(values)
        .sort((a, b) => b[1][budget - 1] - a[1][budget - 1])
        .map(([name, shares]) => element("div", "", element("span", "", name),
          element("span", "", `${(100 * shares[budget - 1]).toFixed(1)} %`))));
      tip.classList.toggle("right", along < 0.5); // beside the pointer, not upon what it points at
      tip.hidden = false;
    });
    svg.addEventListener("pointerleave", () => {
      tip.hidden = true;
      find(".pointer", svg).setAttribute("d", "");
    });
  }

  start();
  tabs();
  all("[data-curves]").forEach(curves);
})();
