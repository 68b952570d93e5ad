// What moves a figure: labelled native sliders, a button that plays the first of them, laws whose bars are dragged, a
// line that is read out when it changes. A slider holds the index of a choice; the kernel knows what the choices mean.
// Bars hold a law, and here is the one place that keeps it a law while a bar is moved: `giveWay`.

// What a key moves a bar by, in twentieths.
const TWENTIETHS = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, PageUp: 5, PageDown: -5, End: 20, Home: -20 };

// One bar gets a mass. The others keep their proportions in what is left; all at 0, they share it equally.
// Twelve decimals, so that laws that are equal are so to the last digit.
export function giveWay(law, n, mass) {
  const others = law.reduce((sum, old, i) => (i === n ? sum : sum + old), 0);
  const share = (old) => (others > 0 ? old / others : 1 / (law.length - 1));
  return law.map((old, i) => (i === n ? mass : Number(((1 - mass) * share(old)).toFixed(12))));
}

// The mass so many twentieths away; the first of them leads to the next whole one.
export function stepped(mass, by) {
  const from = by > 0 ? Math.floor(20 * mass + 1e-9) : Math.ceil(20 * mass - 1e-9);
  return Math.min(20, Math.max(0, from + by)) / 20;
}

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function labelled(name, properties) {
  const input = element("input", { type: "range", min: 0, ...properties });
  const readout = element("span", { className: "widget-readout" });
  readout.setAttribute("aria-hidden", "true"); // the slider itself says it
  const say = (text) => {
    readout.textContent = text;
    input.setAttribute("aria-valuetext", text);
  };
  return { input, say, part: element("span", { className: "specdec-field" }, element("label", {}, name, input), readout) };
}

function slider({ name, tip, shown }, { at, most, move }) {
  const { input, say, part } = labelled(name, { step: 1, title: tip });
  input.addEventListener("input", () => move(input.valueAsNumber));
  const update = () => {
    input.max = most();
    input.value = at();
    say(shown[at()]);
  };
  return { part, update };
}

function bars({ name, tip, tokens, colour, hatched }, { at, most, move }) {
  const made = tokens.map((token, n) => {
    const title = `Probability of ${token} in the ${tip} law`;
    const { input, say, part } = labelled(`${name}(${token})`, { step: "any", max: most(), title });
    input.setAttribute("aria-orientation", "vertical");
    let hand; // the law that this bar was grabbed in: what gives way in a drag comes back on the way back
    input.addEventListener("input", () => {
      const mass = Math.round(20 * input.valueAsNumber) / 20;
      if (!hand || String(hand.to) !== String(at())) hand = { from: at() };
      hand.to = giveWay(hand.from, n, mass);
      move(hand.to);
    });
    input.addEventListener("change", () => (hand = undefined));
    input.addEventListener("keydown", (event) => {
      if (!(event.key in TWENTIETHS) || event.ctrlKey || event.altKey || event.metaKey) return;
      event.preventDefault();
      move(giveWay(at(), n, stepped(at()[n], TWENTIETHS[event.key])));
    });
    const update = () => {
      const mass = at()[n];
      input.value = mass;
      input.style.setProperty("--mass", mass);
      say(String(Number(mass.toFixed(3))));
    };
    return { part, update };
  });
  const part = element("fieldset", { className: "specdec-law" }, element("legend", {}, `${name}, the ${tip} law`));
  part.append(...made.map((bar) => bar.part));
  part.style.setProperty("--colour", colour);
  part.classList.toggle("specdec-hatched", hatched);
  return { part, update: () => made.forEach((bar) => bar.update()) };
}

const HINT =
  "Drag a bar, or use the arrow keys. The others of its law keep their proportions; where all are 0, they share equally.";

function render({ model, el }) {
  const fields = model.get("fields");
  const set = (at) => {
    model.set("at", at);
    model.save_changes();
    update(); // where nothing changed, a bar still goes back to its step
  };
  const move = (n, to) => set(model.get("at").map((old, i) => (i === n ? to : old)));

  const parts = fields.map((field, n) =>
    (field.shown ? slider : bars)(field, {
      at: () => model.get("at")[n],
      most: () => model.get("most")[n],
      move: (to) => move(n, to),
    }),
  );

  const button = (text, press) => {
    const made = element("button", { type: "button", className: "jupyter-button", textContent: text });
    made.addEventListener("click", press);
    return made;
  };

  let timer;
  const play = button("Play", () => {
    if (timer) return pause();
    if (model.get("at")[0] >= model.get("most")[0]) move(0, 0);
    timer = setInterval(next, model.get("pace"));
    play.textContent = "Pause";
  });
  const pause = () => {
    timer = clearInterval(timer);
    play.textContent = "Play";
  };
  const next = () => {
    const now = model.get("at")[0];
    if (now < model.get("most")[0]) move(0, now + 1);
    if (now + 1 >= model.get("most")[0]) pause();
  };

  const laws = fields.filter((field) => field.tokens);
  const buttons = model.get("pace") ? [play] : [];
  if (laws.length) {
    const [first, ...others] = fields.map((field) => field.name);
    const same = others.map((name, n) => button(`${name} = ${first}`, () => move(n + 1, model.get("at")[0])));
    buttons.push(...same, button("Reset", () => set(fields.map((field) => field.start))));
  }

  const status = element("div");
  status.setAttribute("role", "status");
  const update = () => {
    parts.forEach((one) => one.update());
    if (status.textContent !== model.get("now")) status.textContent = model.get("now");
  };
  update();
  model.on("change", update);

  // What moves a slider must not reach JupyterLab, which would move on to another cell. Some versions of it hear of a key
  // before the slider does, so this hears of it before them.
  const keep = ({ target, key }) =>
    el.contains(target) && target.toggleAttribute("data-lm-suppress-shortcuts", target.type === "range" && key in TWENTIETHS);
  window.addEventListener("keydown", keep, true);

  el.classList.add("specdec-controls");
  if (laws.length) el.append(element("div", { textContent: HINT }));
  el.append(element("div", {}, ...parts.map((one) => one.part), ...buttons), status);
  return () => {
    pause();
    window.removeEventListener("keydown", keep, true);
    model.off("change", update);
  };
}

export default { render };
