// What moves a figure: labelled native sliders, a button that plays the first of them, a line that is read out when it
// changes. A slider holds the index of a choice; the kernel knows what the choices mean.

// What moves a slider must not reach JupyterLab, which would move on to another cell.
const KEYS = /^(Arrow(Left|Right|Up|Down)|Home|End|Page(Up|Down))$/;

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function render({ model, el }) {
  const move = (n, index) => {
    model.set("at", model.get("at").map((old, i) => (i === n ? index : old)));
    model.save_changes();
  };

  const sliders = model.get("fields").map(({ name, tip }, n) => {
    const input = element("input", { type: "range", min: 0, step: 1, title: tip });
    input.addEventListener("input", () => move(n, input.valueAsNumber));
    input.addEventListener("keydown", (event) => KEYS.test(event.key) && event.stopPropagation());
    return { input, name, readout: element("span", { className: "widget-readout" }) };
  });
  const rows = sliders.map(({ input, name, readout }) => {
    readout.setAttribute("aria-hidden", "true"); // the slider itself says it
    return element("span", { className: "specdec-field" }, element("label", {}, name, input), readout);
  });

  let timer;
  const button = element("button", { type: "button", className: "jupyter-button", textContent: "Play" });
  const pause = () => {
    timer = clearInterval(timer);
    button.textContent = "Play";
  };
  const next = () => {
    const now = model.get("at")[0];
    if (now < model.get("most")[0]) move(0, now + 1);
    if (now + 1 >= model.get("most")[0]) pause();
  };
  button.addEventListener("click", () => {
    if (timer) return pause();
    if (model.get("at")[0] >= model.get("most")[0]) move(0, 0);
    timer = setInterval(next, model.get("pace"));
    button.textContent = "Pause";
  });

  const status = element("div");
  status.setAttribute("role", "status");
  const update = () => {
    sliders.forEach(({ input, readout }, n) => {
      const index = model.get("at")[n];
      input.max = model.get("most")[n];
      input.value = index;
      readout.textContent = model.get("fields")[n].shown[index];
      input.setAttribute("aria-valuetext", readout.textContent);
    });
    if (status.textContent !== model.get("now")) status.textContent = model.get("now");
  };
  update();
  model.on("change", update);

  el.classList.add("specdec-controls");
  el.append(element("div", {}, ...rows, ...(model.get("pace") ? [button] : [])), status);
  return () => {
    pause();
    model.off("change", update);
  };
}

export default { render };
