// SPDX-License-Identifier: Apache-2.0
// The two pictures that move: memory over time, and the place and life of every value. All text goes in as text.
(function () {
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const bars = data.bars, values = data.values;
const barCount = bars.value.length;
const byId = (id) => document.getElementById(id);

// ---------------------------------------------------------------------------------------------------- numbers

function bytesText(n) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0, value = n;
  while (value >= 1024 && unit < 4) { value /= 1024; ++unit; }
  return (unit === 0 ? String(value) : value.toFixed(1)) + " " + units[unit];
}

function timeText(t) {
  if (!data.seconds) return String(Number(t.toPrecision(4)));
  if (t >= 1) return t.toFixed(2) + " s";
  return t >= 1e-3 ? (t * 1e3).toFixed(2) + " ms" : (t * 1e6).toFixed(0) + " µs";
}

function ticks(low, high, count) {
  const rough = (high - low) / count, unit = Math.pow(10, Math.floor(Math.log10(rough)));
  const step = [1, 2, 5, 10].map((f) => f * unit).find((s) => s >= rough * 0.999) || unit;
  const all = [];
  for (let t = Math.ceil(low / step - 1e-9) * step; t <= high + step * 1e-9; t += step) all.push(t);
  return all;
}

function byteTicks(high, count) {
  let unit = 1;
  while (high / unit >= 1024) unit *= 1024;
  return ticks(0, high / unit, count).map((t) => t * unit);
}

// The last position whose number is not above x, in an ascending list.
function lastNotAbove(list, x) {
  let low = 0, high = list.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (list[middle] <= x) low = middle; else high = middle - 1;
  }
  return low;
}

// ------------------------------------------------------------------------------------------ what x and y mean

// Moments are grouped into columns if there are very many; times are known where columns begin.
function track(source) {
  const columns = source.times.length - 1, per = columns > 0 ? source.moments / columns : 1;
  return {
    columns: columns,
    begin(column) { return view.mode === "time" ? source.times[column] : column * per; },
    place(moment) {
      if (view.mode === "step" || columns === 0) return moment;
      const at = moment / per, column = Math.min(Math.floor(at), columns - 1);
      return source.times[column] + (at - column) * (source.times[column + 1] - source.times[column]);
    },
    column(x) {
      if (view.mode === "step") return Math.min(columns - 1, Math.max(0, Math.floor(x / per)));
      return Math.min(columns - 1, lastNotAbove(source.times, x));
    },
    end() { return this.begin(columns); },
  };
}

const view = { mode: "time", low: 0, high: 1 };
const plan = track(data), unlimited = track(data.unlimited);

function wholeWidth() { return Math.max(plan.end(), unlimited.end()) || 1; }
function showAll() { view.low = 0; view.high = wholeWidth(); drawAll(); }
function zoom(factor, around) {
  const width = Math.min(wholeWidth(), Math.max(wholeWidth() / 5000, (view.high - view.low) * factor));
  const share = (around - view.low) / (view.high - view.low);
  view.low = Math.max(0, Math.min(wholeWidth() - width, around - share * width));
  view.high = view.low + width;
  drawAll();
}

const totals = new Float64Array(plan.columns);
data.memory.forEach((group) => group.forEach((bytes, c) => { totals[c] += bytes; }));
const highest = Math.max(data.budget || 0, data.peak, data.unlimited.total.reduce((a, b) => Math.max(a, b), 0), 1);

// ---------------------------------------------------------------------------------------------------- canvases

const margin = { left: 78, right: 14, top: 12, bottom: 30 };

function surface(id, top) {
  const canvas = byId(id);
  const s = { canvas: canvas, context: canvas.getContext("2d"), width: 0, height: 0, top: top };
  s.fit = function () {
    const ratio = window.devicePixelRatio || 1;
    s.width = canvas.clientWidth; s.height = canvas.clientHeight;
    canvas.width = Math.round(s.width * ratio); canvas.height = Math.round(s.height * ratio);
    s.context.setTransform(ratio, 0, 0, ratio, 0, 0);
  };
  s.x = (value) => margin.left + (value - view.low) / (view.high - view.low) * (s.width - margin.left - margin.right);
  s.y = (value) => s.height - margin.bottom - value / s.top * (s.height - margin.top - margin.bottom);
  s.valueAt = (x) => view.low + (x - margin.left) / (s.width - margin.left - margin.right) * (view.high - view.low);
  s.bytesAt = (y) => (s.height - margin.bottom - y) / (s.height - margin.top - margin.bottom) * s.top;
  s.isInside = (x, y) => x >= margin.left && x <= s.width - margin.right && y >= margin.top && y <= s.height - margin.bottom;
  return s;
}

const memory = surface("memory", highest * 1.1);
const layout = surface("layout", Math.max(data.layoutBytes, data.budget && data.budget < 4 * data.layoutBytes ? data.budget : 0) * 1.1 || 1);

function color(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }
function groupColor(group) { return color("--g" + group % 12); }

function drawAxes(s) {
  const c = s.context;
  c.clearRect(0, 0, s.width, s.height);
  c.font = "12px system-ui, sans-serif";
  c.lineWidth = 1;
  c.textBaseline = "middle";
  c.textAlign = "right";
  for (const t of byteTicks(s.top, 5)) {
    c.strokeStyle = color("--grid");
    c.beginPath(); c.moveTo(margin.left, s.y(t)); c.lineTo(s.width - margin.right, s.y(t)); c.stroke();
    c.fillStyle = color("--text");
    c.fillText(bytesText(t), margin.left - 6, s.y(t));
  }
  c.textAlign = "center";
  for (const t of ticks(view.low, view.high, Math.max(2, Math.floor(s.width / 130)))) {
    c.fillStyle = color("--text");
    c.fillText(view.mode === "time" ? timeText(t) : String(Math.round(t)), s.x(t), s.height - margin.bottom + 14);
  }
}

function inPlot(s, draw) {
  const c = s.context;
  c.save();
  c.beginPath();
  c.rect(margin.left, margin.top, s.width - margin.left - margin.right, s.height - margin.top - margin.bottom);
  c.clip();
  draw(c);
  c.restore();
}

function drawBudget(s, c) {
  if (data.budget === null) return;
  c.strokeStyle = c.fillStyle = color("--budget");
  c.lineWidth = 2;
  c.setLineDash([7, 5]);
  c.beginPath(); c.moveTo(margin.left, s.y(data.budget)); c.lineTo(s.width - margin.right, s.y(data.budget)); c.stroke();
  c.setLineDash([]);
  c.textAlign = "right";
  c.fillText("budget " + bytesText(data.budget), s.width - margin.right - 6, s.y(data.budget) - 9);
}

// A line of steps over the columns in view; `height` gives the y of a column.
function stairs(c, s, who, height) {
  const first = Math.max(0, who.column(view.low)), last = Math.min(who.columns - 1, who.column(view.high));
  for (let i = first; i <= last; ++i) {
    c.lineTo(s.x(who.begin(i)), height(i));
    c.lineTo(s.x(who.begin(i + 1)), height(i));
  }
  return [s.x(who.begin(first)), s.x(who.begin(last + 1))];
}

function drawMemory() {
  drawAxes(memory);
  inPlot(memory, function (c) {
    const below = new Float64Array(plan.columns);
    data.memory.forEach(function (group, g) {
      const floor = below.slice();
      group.forEach((bytes, i) => { below[i] += bytes; });
      c.fillStyle = groupColor(g);
      c.beginPath();
      const ends = stairs(c, memory, plan, (i) => memory.y(below[i]));
      const first = plan.column(view.low), last = plan.column(view.high);
      for (let i = last; i >= first; --i) {
        c.lineTo(memory.x(plan.begin(i + 1)), memory.y(floor[i]));
        c.lineTo(memory.x(plan.begin(i)), memory.y(floor[i]));
      }
      if (ends[1] > ends[0]) c.fill();
    });
    c.strokeStyle = color("--text");
    c.lineWidth = 1.5;
    c.setLineDash([2, 3]);
    c.beginPath();
    stairs(c, memory, unlimited, (i) => memory.y(data.unlimited.total[i]));
    c.stroke();
    c.setLineDash([]);
    drawBudget(memory, c);
  });
}

// -------------------------------------------------------------------------------------------- the place of values

let selected = -1, wanted = null;

function barBox(i) {
  const x = layout.x(plan.place(bars.from[i])), right = layout.x(plan.place(bars.to[i]));
  const y = layout.y(data.resident + bars.offset[i] + bars.bytes[i]), bottom = layout.y(data.resident + bars.offset[i]);
  return { x: x, y: y, width: Math.max(0.5, right - x), height: Math.max(0.5, bottom - y) };
}

function hatch(c) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 8;
  const t = tile.getContext("2d");
  t.strokeStyle = color("--hatch");
  t.lineWidth = 1.5;
  t.beginPath();
  for (const shift of [-8, 0, 8]) { t.moveTo(shift, 8); t.lineTo(shift + 8, 0); }
  t.stroke();
  return c.createPattern(tile, "repeat");
}

function drawLayout() {
  drawAxes(layout);
  const colors = data.groups.map((_, g) => groupColor(g)), edge = color("--page");
  inPlot(layout, function (c) {
    const stripes = hatch(c);
    if (data.resident > 0) {
      c.fillStyle = groupColor(0);
      c.fillRect(margin.left, layout.y(data.resident), layout.width, layout.y(0) - layout.y(data.resident));
    }
    for (let i = 0; i < barCount; ++i) {
      const b = barBox(i);
      if (b.x > layout.width || b.x + b.width < margin.left) continue;
      c.globalAlpha = wanted && !wanted[bars.value[i]] ? 0.12 : 1;
      c.fillStyle = colors[values.group[bars.value[i]]];
      c.fillRect(b.x, b.y, b.width, b.height);
      if (values.runs[bars.value[i]] > 1) { c.fillStyle = stripes; c.fillRect(b.x, b.y, b.width, b.height); }
      if (b.width > 4 && b.height > 4) {
        c.strokeStyle = edge;
        c.lineWidth = 0.7;
        c.strokeRect(b.x, b.y, b.width, b.height);
      }
    }
    c.globalAlpha = 1;
    drawBudget(layout, c);
    if (selected < 0) return;
    const b = barBox(selected);
    c.strokeStyle = color("--text");
    c.lineWidth = 2.5;
    c.strokeRect(b.x - 1, b.y - 1, b.width + 2, b.height + 2);
  });
}

function barAt(x, y) {
  const at = layout.valueAt(x), bytes = layout.bytesAt(y) - data.resident;
  for (let i = barCount - 1; i >= 0; --i)
    if (bytes >= bars.offset[i] && bytes < bars.offset[i] + bars.bytes[i] &&
        at >= plan.place(bars.from[i]) && at < plan.place(bars.to[i])) return i;
  return -1;
}

function barLines(i) {
  const v = bars.value[i], runs = values.runs[v];
  let life = 0, lives = 0;
  for (let k = 0; k < barCount; ++k)
    if (bars.value[k] === v) { ++lives; if (bars.from[k] <= bars.from[i]) ++life; }
  const lines = [values.name[v], bytesText(bars.bytes[i]) + " · " + data.groups[values.group[v]]];
  if (values.scratch[v]) lines.push("in use only while it runs");
  else if (runs > 1) lines.push("recomputed: made " + runs + " times, this is life " + life + " of " + lives);
  else if (lives > 1) lines.push("moved to disk and back, this is life " + life + " of " + lives);
  else lines.push("kept");
  const from = plan.place(bars.from[i]), to = plan.place(bars.to[i]);
  lines.push(view.mode === "time" ? timeText(from) + " to " + timeText(to)
                                  : "moments " + bars.from[i] + " to " + bars.to[i]);
  if (values.why[v] >= 0) lines.push(data.whys[values.why[v]]);
  if (values.again[v]) lines.push("one more run: " + values.again[v] + " of the time of a step");
  return lines;
}

function columnLines(x) {
  const at = memory.valueAt(x), lines = [];
  if (at < plan.end()) {
    const c = plan.column(at);
    lines.push(data.doing[c], "in memory " + bytesText(totals[c]));
    for (let g = data.groups.length - 1; g >= 0; --g)
      if (data.memory[g][c] > 0) lines.push("  " + data.groups[g] + " " + bytesText(data.memory[g][c]));
  } else lines.push("after the end of the step");
  if (at < unlimited.end()) lines.push("without a limit " + bytesText(data.unlimited.total[unlimited.column(at)]));
  return lines;
}

// ------------------------------------------------------------------------------------------------------ telling

const tip = byId("tip"), told = byId("told");

function showTip(lines, x, y) {
  tip.textContent = "";
  lines.forEach(function (line, i) {
    const row = document.createElement(i === 0 ? "strong" : "div");
    row.textContent = line;
    tip.appendChild(row);
  });
  tip.hidden = false;
  tip.style.left = Math.max(4, Math.min(x + 14, window.innerWidth - tip.offsetWidth - 8)) + "px";
  tip.style.top = Math.max(4, y + 18 + tip.offsetHeight > window.innerHeight ? y - tip.offsetHeight - 10 : y + 18) + "px";
}
function hideTip() { tip.hidden = true; }

function select(i) {
  selected = i;
  drawLayout();
  told.textContent = i < 0 ? "" : barLines(i).join("; ");
}

function selectAndShow(i) {
  select(i);
  if (i < 0) return hideTip();
  const b = barBox(i), box = layout.canvas.getBoundingClientRect();
  showTip(barLines(i), box.left + Math.max(margin.left, b.x + b.width / 2), box.top + b.y + b.height / 2);
}

// By time, then by place: the order in which the arrow keys walk.
const order = Array.from({ length: barCount }, (_, i) => i)
  .sort((a, b) => bars.from[a] - bars.from[b] || bars.offset[a] - bars.offset[b]);
const rank = new Int32Array(barCount);
order.forEach((bar, i) => { rank[bar] = i; });

// The nearest bar above (1) or below (-1) that lives when the selected one begins.
function neighbour(direction) {
  let best = -1;
  const moment = bars.from[selected], here = bars.offset[selected];
  for (let i = 0; i < barCount; ++i) {
    const distance = (bars.offset[i] - here) * direction;
    if (distance <= 0 || bars.from[i] > moment || bars.to[i] <= moment) continue;
    if (best < 0 || distance < (bars.offset[best] - here) * direction) best = i;
  }
  return best < 0 ? selected : best;
}

function moveBy(key) {
  if (barCount === 0) return false;
  if (key === "Escape") { selectAndShow(-1); return true; }
  const moves = { ArrowRight: 1, ArrowLeft: -1 };
  if (key === "Home") selectAndShow(order[0]);
  else if (key === "End") selectAndShow(order[barCount - 1]);
  else if (!(key in moves) && key !== "ArrowUp" && key !== "ArrowDown") return false;
  else if (selected < 0) selectAndShow(order[0]);
  else if (key in moves) selectAndShow(order[Math.max(0, Math.min(barCount - 1, rank[selected] + moves[key]))]);
  else selectAndShow(neighbour(key === "ArrowUp" ? 1 : -1));
  return true;
}

function zoomBy(key) {
  const middle = selected >= 0 ? plan.place(bars.from[selected]) : (view.low + view.high) / 2;
  if (key === "+" || key === "=") zoom(0.5, middle);
  else if (key === "-") zoom(2, middle);
  else if (key === "0") showAll();
  else return false;
  return true;
}

// -------------------------------------------------------------------------------------------------- what people do

let drag = null;
for (const s of [memory, layout]) {
  s.canvas.addEventListener("pointermove", function (event) {
    const x = event.offsetX, y = event.offsetY;
    if (drag) {
      const moved = s.valueAt(drag.x) - s.valueAt(x), width = view.high - view.low;
      view.low = Math.max(0, Math.min(wholeWidth() - width, drag.low + moved));
      view.high = view.low + width;
      return drawAll();
    }
    if (!s.isInside(x, y)) return hideTip();
    if (s === memory) return showTip(columnLines(x), event.clientX, event.clientY);
    const bar = barAt(x, y);
    if (bar !== selected) select(bar);
    if (bar < 0) return hideTip();
    showTip(barLines(bar), event.clientX, event.clientY);
  });
  s.canvas.addEventListener("pointerleave", hideTip);
  s.canvas.addEventListener("pointerdown", function (event) {
    if (view.high - view.low >= wholeWidth() * 0.999) return;
    drag = { x: event.offsetX, low: view.low };
    s.canvas.setPointerCapture(event.pointerId);
  });
  s.canvas.addEventListener("pointerup", () => { drag = null; });
  s.canvas.addEventListener("dblclick", showAll);
  s.canvas.addEventListener("wheel", function (event) {
    if (!event.ctrlKey && !event.shiftKey) return;  // the page scrolls
    event.preventDefault();
    zoom(event.deltaY + event.deltaX < 0 ? 0.8 : 1.25, s.valueAt(event.offsetX));
  }, { passive: false });
  s.canvas.addEventListener("keydown", function (event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (zoomBy(event.key) || (s === layout && moveBy(event.key))) event.preventDefault();
  });
  s.canvas.addEventListener("blur", hideTip);
}

byId("by-time").addEventListener("click", () => setMode("time"));
byId("by-step").addEventListener("click", () => setMode("step"));
byId("zoom-in").addEventListener("click", () => zoomBy("+"));
byId("zoom-out").addEventListener("click", () => zoomBy("-"));
byId("zoom-all").addEventListener("click", showAll);

function setMode(mode) {
  view.mode = mode;
  byId("by-time").setAttribute("aria-pressed", String(mode === "time"));
  byId("by-step").setAttribute("aria-pressed", String(mode === "step"));
  showAll();
}

byId("find").addEventListener("input", function (event) {
  const text = event.target.value.toLowerCase();
  wanted = text === "" ? null : values.name.map((name) => name.toLowerCase().includes(text));
  byId("found").textContent = wanted ? wanted.filter(Boolean).length + " found" : "";
  drawLayout();
});

byId("theme").addEventListener("click", function () {
  const root = document.documentElement;
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
  drawAll();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);

function drawLegend() {
  const list = byId("legend");
  data.groups.forEach(function (group, g) {
    const item = document.createElement("li"), square = document.createElement("span");
    square.className = "square";
    square.style.background = "var(--g" + g % 12 + ")";
    item.append(square, document.createTextNode(group));
    list.appendChild(item);
  });
}

function drawAll() { drawMemory(); drawLayout(); }
function fitAll() { memory.fit(); layout.fit(); drawAll(); }

drawLegend();
view.high = wholeWidth();
fitAll();
window.addEventListener("resize", fitAll);
document.documentElement.dataset.ready = "yes";
}());
