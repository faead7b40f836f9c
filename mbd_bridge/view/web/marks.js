  // ---------------------------------------------------------------- marks: joints, centre of mass, frames
  const { marks } = scene, framesOf = new Set(marks.shown.frames);
  const marked = { ...(marks.joints.length ? { joints: marks.shown.joints } : {}),
    ...(masses ? { "centre of mass": marks.shown.centre } : {}) };
  const night = window.matchMedia("(prefers-color-scheme: dark)");
  night.addEventListener("change", ask);
  function pinColour(colour) { // dark pins are seen on a dark page, too
    return night.matches && Math.max(...colour) < 0.4 ? add(colour, [0.3, 0.3, 0.3]) : colour;
  }
  const ball = turned(Array.from({ length: 11 }, (_, k) => {
    const angle = Math.PI * (k / 10 - 0.5);
    return [Math.cos(angle), Math.sin(angle)];
  }));
  function carried(bodies, { body, pose: p }) { // where a body carries a part
    return multiplied(bodies[body], new Float32Array([p[0], p[4], p[8], 0, p[1], p[5], p[9], 0,
      p[2], p[6], p[10], 0, p[3], p[7], p[11], 1]));
  }
  function marksOver(bodies, when) { // those that are seen through the machine
    const pieces = [], [length, radius] = marks.axes;
    if (marked["centre of mass"])
      pieces.push([...along(ball, mixed(masses, 3, 0, when), [0, 0, 1], marks.ball, marks.ball),
        marks.ball_colour]);
    for (const one of marks.frames.filter(({ name }) => framesOf.has(name))) {
      const m = carried(bodies, one), column = (k) => [...m.slice(4 * k, 4 * k + 3)];
      marks.axis_colours.forEach((colour, k) =>
        pieces.push([...along(rod, column(3), unit(column(k)), radius, length), colour]));
    }
    return pieces;
  }

