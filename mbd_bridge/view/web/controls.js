  // ---------------------------------------------------------------- controls
  const digits = Math.max(0, Math.min(4, 2 - Math.floor(Math.log10(time[last] - time[0] || 1))));
  const play = element("button", controls, { type: "button" }, playing ? "❚❚ Pause" : "▶ Play");
  const slider = element("input", controls, { type: "range", min: time[0], max: time[last], step: "any" });
  slider.setAttribute("aria-label", "time, s");
  const clock = element("span", controls, { className: "time" });
  for (const part of [play, slider, clock]) part.hidden = last === 0;
  if (loads.length || external.length) {
    if (loads.length)
      checklist(everyJoint, chosen, [["largest force", () => [largest()]]], ({ size: count }) =>
        count === 1 ? `loads of ${[...chosen][0]}`
          : count ? `loads of ${count === everyJoint.length ? `all ${count}` : count} joints` : "no loads");
    for (const name of Object.keys(shown)) checkbox(name, shown);
  }
  const links = marks.frames.map((one) => one.name);
  if (links.length)
    checklist(links, framesOf, [], ({ size: count }) =>
      count === 1 ? `frame of ${[...framesOf][0]}` : count ? `frames of ${count} links` : "no frames");
  for (const name of Object.keys(marked)) checkbox(name, marked);
  if (other && !scene.live) factorSlider();
  writeLegend();
  function writeLegend() {
    legend.replaceChildren();
    const row = (colour, text) =>
      element("span", legend, { style: `color: ${ink(scene.colours[colour])}` }, text);
    for (const [name, unitName] of [["force", "N"], ["moment", "N m"]]) {
      if (!scale[name]) continue;
      const whole = round(longest / scale[name]);
      const length = Number((whole * scale[name]).toPrecision(3));
      row(name, `${name}${loads.length ? ", on the child" : ""}: ${length} m = ${readable(whole, unitName)}`);
    }
    if (scale.actuation) row("actuation", "actuation");
    if (external.length) row("external", "external force, moment (two heads)");
    if (loads.some((load) => load.open_force || load.open_moment))
      row("undetermined", "? not determined by rigid-body mechanics");
    if (exaggerate !== 1)
      element("span", legend, {}, `deflections ${Number(exaggerate.toPrecision(3))} times as large`);
  }
  function factorSlider() { // how many times as large deflections are drawn
    const ends = [scene.exaggerate, scene.exaggerated.factor].sort((a, b) => a - b);
    const label = element("label", controls, { className: "factor" }, "deflections ×");
    const input = element("input", label, {
      type: "range", min: ends[0], max: ends[1], step: "any", value: scene.exaggerate });
    const output = element("output", label);
    const told = () => { output.textContent = Number(Number(input.value).toPrecision(3)); };
    input.oninput = () => { exaggerated(Number(input.value)); told(); writeLegend(); ask(); };
    told();
  }
  function checklist(names, chosen, choices, told) { // a list of boxes that opens
    const list = element("details", controls, { className: "joints" });
    const summary = element("summary", list);
    const panel = element("div", list, { className: "panel" });
    const boxes = new Map();
    function tellChosen() {
      for (const [name, box] of boxes) box.checked = chosen.has(name);
      summary.textContent = told(chosen);
    }
    function choose(some) {
      chosen.clear();
      for (const name of some) chosen.add(name);
      tellChosen();
      ask();
    }
    const row = element("div", panel, { className: "row" });
    for (const [text, some] of [["all", () => names], ["none", () => []], ...choices])
      element("button", row, { type: "button", onclick: () => choose(some()) }, text);
    for (const name of names) {
      const label = element("label", panel), box = element("input", label, { type: "checkbox" });
      label.append(` ${name}`);
      boxes.set(name, box);
      box.onchange = () => choose(names.filter((one) => boxes.get(one).checked));
    }
    tellChosen();
  }
  function checkbox(name, values) {
    const label = element("label", controls);
    const box = element("input", label, { type: "checkbox", checked: values[name] });
    label.append(` ${name}`);
    box.onchange = () => { values[name] = box.checked; ask(); };
  }
  const whole = element("button", controls, { type: "button" }, "Full screen");
  whole.hidden = !holder.requestFullscreen;
  whole.onclick = () =>
    document.fullscreenElement ? document.exitFullscreen() : holder.requestFullscreen();
  slider.oninput = () => { now = Number(slider.value); playing = false; tell(); ask(); };
  function tell() { play.textContent = playing ? "❚❚ Pause" : "▶ Play"; }
  let before = performance.now(), waiting = false;
  play.onclick = () => {
    playing = !playing;
    if (playing && now >= time[last]) now = time[0];
    before = performance.now();
    tell();
    ask();
  };
  function ask() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame((at) => {
      waiting = false;
      if (playing) {
        now += (scene.speed * Math.max(0, at - before)) / 1e3;
        before = at;
        if (now >= time[last]) { now = time[last]; playing = false; tell(); }
      }
      render();
      if (playing) ask();
    });
  }
  const fingers = new Map();
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, event);
  });
  canvas.addEventListener("pointermove", (event) => {
    const old = fingers.get(event.pointerId);
    if (!old) return;
    const dx = event.clientX - old.clientX, dy = event.clientY - old.clientY;
    const other = [...fingers.values()].find((one) => one.pointerId !== event.pointerId);
    if (other) {
      const gap = (one) => Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY) || 1;
      nearer(gap(old) / gap(event));
      moved(dx / 2, dy / 2);
    } else if (event.shiftKey || event.buttons & 6) moved(dx, dy);
    else {
      camera.yaw -= 0.008 * dx;
      camera.pitch = Math.min(1.55, Math.max(-1.55, camera.pitch + 0.008 * dy));
    }
    fingers.set(event.pointerId, event);
    ask();
  });
  for (const name of ["pointerup", "pointercancel", "lostpointercapture"])
    canvas.addEventListener(name, (event) => fingers.delete(event.pointerId));
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !document.fullscreenElement && !fingers.size && !focused) return;
    event.preventDefault();
    nearer(Math.exp(0.0015 * event.deltaY));
    ask();
  }, { passive: false });
  let focused = false; // the wheel moves the page until the picture was clicked
  canvas.addEventListener("click", () => { focused = true; });
  canvas.addEventListener("pointerleave", () => { focused = false; });
  canvas.addEventListener("contextmenu", (event) => event.preventDefault());
  canvas.addEventListener("dblclick", () => {
    Object.assign(camera, begin);
    ask();
  });
  canvas.title = "drag: turn; right button or two fingers: move; click, then wheel: zoom; double click: reset";
  function nearer(factor) { camera.away = Math.min(20, Math.max(0.05, camera.away * factor)); }
  function moved(dx, dy) {
    const { right, above, distance } = looking();
    const step = (2 * distance * Math.tan(ANGLE / 2)) / stage.clientHeight;
    camera.target = add(add(camera.target, right, -dx * step), above, dy * step);
  }
  new ResizeObserver(ask).observe(stage);
  window.addEventListener("beforeprint", render);
  render();
