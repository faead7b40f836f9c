  // ---------------------------------------------------------------- a served page: sliders of joints
  (function () {
    const sliders = [], { live } = scene;
    const panel = element("div", holder, { className: "knobs" });
    const message = element("div", holder, { className: "message" });
    message.setAttribute("role", "status");
    const address = location.href.replace(/[^/]*$/, "");
    let busy = false, next = null;
    if (live) {
      begin.away = camera.away = 1.15; // poses reach further than the first
      live.knobs.forEach((knob, k) => {
        const label = element("label", panel, { title: knob.name });
        element("span", label, {}, knob.name);
        const input = element("input", label, {
          type: "range", min: knob.low, max: knob.high, step: "any", value: live.values[k] });
        const output = element("output", label);
        input.oninput = () => { tellValue(k); send(k); };
        sliders.push({ input, output, unit: knob.unit });
        tellValue(k);
      });
      if (loads.length) message.textContent = "loads at rest under gravity";
    }
    function tellValue(k) {
      const { input, output, unit } = sliders[k];
      output.textContent = `${Number(input.value).toFixed(3)} ${unit}`;
    }
    async function send(moved) { // the newest position only; one request at a time
      next = moved;
      if (busy) return;
      busy = true;
      while (next !== null) {
        const k = next;
        next = null;
        const values = sliders.map(({ input }) => Number(input.value));
        try {
          const answer = await fetch(`${address}pose`, {
            method: "POST", body: JSON.stringify({ values, moved: k }) });
          if (!answer.ok) throw new Error(answer.statusText);
          show(await answer.json(), k);
        } catch (error) {
          message.textContent = `no answer from the program: ${error.message}`;
        }
      }
      busy = false;
    }
    function show(state, moved) {
      message.textContent = state.message || (loads.length ? "loads at rest under gravity" : "");
      if (!state.bodies) return;
      take(read(state));
      writeLegend();
      state.values.forEach((value, k) => { // those that the loops move; the one in hand stays
        if (k === moved && !state.message) return;
        sliders[k].input.value = value;
        tellValue(k);
      });
      ask();
    }
    const open = new EventSource(`${address}open`); // tells the program that the page is open
    open.onerror = () => {
      open.close();
      for (const { input } of sliders) input.disabled = true;
      message.textContent = "the program that showed this page has ended";
    };
  })();
