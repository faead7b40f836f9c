  const holder = document.currentScript.parentElement;
  const scene = JSON.parse(holder.querySelector('script[type="application/json"]').textContent);

  // ---------------------------------------------------------------- data
  function decoded(text, Kind) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    return new Kind(bytes.buffer);
  }
  const bodyCount = scene.bodies.count;
  const floats = (record, names) => Object.fromEntries(
    names.filter((name) => record[name]).map((name) => [name, decoded(record[name], Float32Array)]));
  const bent = scene.bent.map((one) => ({ body: one.body, frame: new Float32Array(one.frame),
    ...floats(one, ["points", "displacement", "rotation", "shortening"]) }));
  let time, last, poses, loads, external, amplitudes, springs, masses, scale, exaggerate;
  function read(state) { // arrays of texts
    return {
      time: decoded(state.time, Float32Array),
      poses: decoded(state.bodies.poses, Float32Array),
      loads: state.loads.map((load) => ({ joint: load.joint, turns: load.turns, ...floats(load,
        ["point", "force", "moment", "open_force", "open_moment", "axis", "actuation"]) })),
      external: state.external.map((one) => (
        { link: one.link, ...floats(one, ["point", "force", "moment"]) })),
      amplitudes: state.amplitudes.map((text) => decoded(text, Float32Array)),
      springs: state.springs.map((s) => ({ ...s, ...floats(s, ["ends"]) })),
      centre: state.centre && decoded(state.centre, Float32Array),
      scale: state.scale,
    };
  }
  function take(state) { // the states that are shown
    ({ time, poses, loads, external, amplitudes, springs, centre: masses, scale } = state);
    last = time.length - 1;
  }
  const shownFirst = read(scene), other = scene.exaggerated && read(scene.exaggerated);
  exaggerate = scene.exaggerate;
  take(shownFirst);
  if (other) // quaternions turn the short way from one factor to the other
    for (let k = 3; k < other.poses.length; k += 7) {
      let along = 0;
      for (let i = 0; i < 4; i++) along += other.poses[k + i] * shownFirst.poses[k + i];
      if (along < 0) for (let i = 0; i < 4; i++) other.poses[k + i] *= -1;
    }
  function between(a, b, part) { // the same numbers on the straight way from one record to another
    if (a instanceof Float32Array) return a.map((x, k) => x + part * (b[k] - x));
    if (Array.isArray(a)) return a.map((one, k) => between(one, b[k], part));
    if (!a || typeof a !== "object") return a;
    return Object.fromEntries(Object.entries(a).map(([name, one]) => [name, between(one, b[name], part)]));
  }
  function exaggerated(factor) { // deflections so many times as large
    exaggerate = factor;
    const { factor: end } = scene.exaggerated;
    take({ ...between(shownFirst, other, (factor - scene.exaggerate) / (end - scene.exaggerate)), scale });
  }

  // ---------------------------------------------------------------- small vectors
  const add = (a, b, s = 1) => [a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]];
  const scaled = (a, s) => [a[0] * s, a[1] * s, a[2] * s];
  const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  const cross = (a, b) => [
    a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  const size = (a) => Math.hypot(a[0], a[1], a[2]);
  const unit = (a) => scaled(a, 1 / (size(a) || 1));
  function square(axis) { // a unit vector square to a unit vector
    const k = [0, 1, 2].reduce((b, i) => (Math.abs(axis[i]) < Math.abs(axis[b]) ? i : b), 0);
    return unit(cross([+(k === 0), +(k === 1), +(k === 2)], axis));
  }
  function multiplied(a, b) { // 4 x 4, columns one after the other
    const out = new Float32Array(16);
    for (let c = 0; c < 4; c++)
      for (let r = 0; r < 4; r++)
        for (let k = 0; k < 4; k++) out[4 * c + r] += a[4 * k + r] * b[4 * c + k];
    return out;
  }
  function framed(x, y, z, p) {
    return new Float32Array([...x, 0, ...y, 0, ...z, 0, ...p, 1]);
  }
  function posed(p, [x, y, z, w]) {
    return framed(
      [1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w)],
      [2 * (x * y - z * w), 1 - 2 * (x * x + z * z), 2 * (y * z + x * w)],
      [2 * (x * z + y * w), 2 * (y * z - x * w), 1 - 2 * (x * x + y * y)], p);
  }

  // ---------------------------------------------------------------- page
  function element(kind, parent, properties = {}, text = "") {
    const made = Object.assign(document.createElement(kind), properties);
    if (text) made.textContent = text;
    parent.append(made);
    return made;
  }
  const stage = element("div", holder, { className: "stage" });
  const canvas = element("canvas", stage);
  const legend = element("div", stage, { className: "legend" });
  const controls = element("div", holder, { className: "controls" });
  const gl = canvas.getContext("webgl", { antialias: true, preserveDrawingBuffer: true });
  if (!gl) {
    element("p", legend, {}, "This browser shows no 3-D pictures (no WebGL).");
    return;
  }
  const ink = (colour) => `color-mix(in srgb, rgb(${
    colour.map((c) => Math.round(255 * c)).join(" ")}) 70%, var(--view-ink))`;

  function readable(value, name) { // as mbd_bridge.readable does
    const names = ["n", "µ", "m", "", "k", "M", "G"];
    let power = 3, shown = Math.abs(value);
    if (shown >= 1e-10) {
      while (shown >= scene.readable.from && power < 6) { shown /= 1e3; power++; }
      while (shown < scene.readable.small && power > 0) { shown *= 1e3; power--; }
    }
    return `${Number((Math.sign(value) * shown).toPrecision(4))} ${names[power]}${name}`;
  }
  function round(value) { // the largest of 1, 2, 5, 10, ... that is not above
    const power = 10 ** Math.floor(Math.log10(value) + 1e-12);
    return power * [5, 2, 1].find((k) => k * power <= value * (1 + 1e-9));
  }

  // ---------------------------------------------------------------- shapes
  const program = gl.createProgram();
  for (const [kind, text] of [
    [gl.VERTEX_SHADER, `attribute vec3 at, normal; attribute vec2 uv;
      uniform mat4 place, eye, lens; varying vec3 side, seen; varying vec2 there;
      void main() { vec4 p = eye * place * vec4(at, 1.0); there = uv;
      side = mat3(eye) * (mat3(place) * normal); seen = p.xyz; gl_Position = lens * p; }`],
    [gl.FRAGMENT_SHADER, `
#ifdef GL_FRAGMENT_PRECISION_HIGH
      precision highp float;
#else
      precision mediump float;
#endif
      uniform vec4 colour; uniform float flatness;
      uniform sampler2D image; varying vec3 side, seen; varying vec2 there;
      void main() { vec3 n = normalize(side);
      if (dot(n, seen) > 0.0) n = -n;
      float light = 0.42 + 0.5 * max(dot(n, normalize(vec3(0.35, 0.7, 0.65))), 0.0)
        + 0.22 * max(dot(n, normalize(vec3(-0.7, 0.1, 0.5))), 0.0);
      vec3 shown = colour.rgb * texture2D(image, there).rgb * mix(light, 1.0, flatness);
      gl_FragColor = vec4(min(shown, 1.0) * colour.a, colour.a); }`],
  ]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.bindAttribLocation(program, 0, "at"); // the first one is always used
  gl.linkProgram(program);
  gl.useProgram(program);
  const place = {};
  for (const name of ["place", "eye", "lens", "colour", "flatness"])
    place[name] = gl.getUniformLocation(program, name);
  const atPlace = gl.getAttribLocation(program, "at");
  const normalPlace = gl.getAttribLocation(program, "normal");
  const uvPlace = gl.getAttribLocation(program, "uv");
  gl.enableVertexAttribArray(atPlace);
  gl.enableVertexAttribArray(normalPlace);

  function buffered(numbers) {
    const buffer = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(numbers), gl.STATIC_DRAW);
    return buffer;
  }
  function shape(numbers, kind = gl.TRIANGLES) { // of points and normals, six numbers each
    return { buffer: buffered(numbers), count: numbers.length / 6, kind };
  }
  function image(pixels) { // on the graphics card; its edges are powers of two
    const made = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, made);
    if (pixels) {
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGB, gl.RGB, gl.UNSIGNED_BYTE, pixels);
      gl.generateMipmap(gl.TEXTURE_2D);
    } else
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGB, 1, 1, 0, gl.RGB, gl.UNSIGNED_BYTE, new Uint8Array([255, 255, 255]));
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, pixels ? gl.LINEAR_MIPMAP_LINEAR : gl.LINEAR);
    return made;
  }
  const WHITE = [1, 1, 1], plain = image(null), images = [];
  scene.textures.forEach((text, k) => // surfaces have their mean colour until they are decoded
    createImageBitmap(new Blob([decoded(text, Uint8Array)]), { colorSpaceConversion: "none" })
      .then((pixels) => { images[k] = image(pixels); ask(); }));
  const CREASE = Math.cos((40 * Math.PI) / 180);
  function unpacked({ low, step, points }, width) {
    const steps = decoded(points, Uint16Array), out = [];
    for (let k = 0; k < steps.length; k += width)
      out.push(low.map((from, i) => from + step[i] * steps[k + i]));
    return out;
  }
  function surface(mesh) { // smooth where it is round, with edges where it has some
    const steps = decoded(mesh.points, Uint16Array);
    const corners = decoded(mesh.triangles, mesh.wide ? Uint32Array : Uint16Array);
    const points = unpacked(mesh, 3), places = mesh.uv && unpacked(mesh.uv, 2);
    const sides = [], around = new Map(), key = (k) => `${steps[3*k]},${steps[3*k+1]},${steps[3*k+2]}`;
    for (let t = 0; t < corners.length; t += 3) {
      const [a, b, c] = [0, 1, 2].map((i) => points[corners[t + i]]);
      sides.push(cross(add(b, a, -1), add(c, a, -1)));
      for (let i = 0; i < 3; i++) {
        const name = key(corners[t + i]);
        if (!around.has(name)) around.set(name, []);
        around.get(name).push(t / 3);
      }
    }
    const units = sides.map(unit), out = [];
    for (let t = 0; t < corners.length; t++) {
      const own = Math.floor(t / 3);
      let sum = [0, 0, 0];
      for (const other of around.get(key(corners[t])).slice(0, 64))
        if (dot(units[own], units[other]) > CREASE) sum = add(sum, sides[other]);
      out.push(...points[corners[t]], ...unit(size(sum) ? sum : units[own]));
    }
    const made = shape(out);
    if (places) { // rows of an image begin above
      made.uv = buffered([...corners].flatMap((k) => [places[k][0], 1 - places[k][1]]));
      made.texture = mesh.texture;
    }
    return made;
  }
  function turned(profile, corners = 20) { // [distance, height] pairs, turned about z
    const out = [];
    for (let k = 0; k + 1 < profile.length; k++) {
      const [[r, h], [s, j]] = [profile[k], profile[k + 1]];
      const across = unit([j - h, 0, r - s]);
      for (let c = 0; c < corners; c++) {
        const point = (d, z, n) => {
          const angle = (2 * Math.PI * (c + n)) / corners, x = Math.cos(angle), y = Math.sin(angle);
          out.push(d * x, d * y, z, across[0] * x, across[0] * y, across[2]);
        };
        point(r, h, 0); point(s, j, 0); point(s, j, 1);
        point(r, h, 0); point(s, j, 1); point(r, h, 1);
      }
    }
    return shape(out);
  }
  const rod = turned([[0, 0], [1, 0], [1, 1], [0, 1]]), cone = turned([[0, -1], [1, -1], [0, 0]]);
  const meshes = scene.meshes.map(surface);

  // ---------------------------------------------------------------- camera
  const low = scene.box.slice(0, 3), high = scene.box.slice(3), up = scene.up;
  const first = square(up), second = cross(up, first);
  const centre = scaled(add(low, high), 0.5), reach = 0.5 * size(add(high, low, -1)) || 1;
  const begin = { yaw: Math.atan2(dot(scene.view, second), dot(scene.view, first)),
    pitch: Math.asin(Math.max(-1, Math.min(1, dot(scene.view, up)))), away: 1, target: centre };
  const camera = { ...begin };
  const ANGLE = 0.6;
  function looking() {
    const { yaw, pitch } = camera;
    const way = add(add(scaled(first, Math.cos(pitch) * Math.cos(yaw)),
      second, Math.cos(pitch) * Math.sin(yaw)), up, Math.sin(pitch));
    const wide = canvas.width / canvas.height || 1;
    const distance = (camera.away * 1.02 * reach) / Math.sin(ANGLE / 2) / Math.min(1, wide);
    const from = add(camera.target, way, distance);
    const right = unit(cross(up, way)), above = cross(way, right);
    const eye = new Float32Array([right[0], above[0], way[0], 0, right[1], above[1], way[1], 0,
      right[2], above[2], way[2], 0, -dot(right, from), -dot(above, from), -dot(way, from), 1]);
    const f = 1 / Math.tan(ANGLE / 2), near = 0.02 * distance, far = distance + 60 * reach;
    const lens = new Float32Array([f / wide, 0, 0, 0, 0, f, 0, 0,
      0, 0, (far + near) / (near - far), -1, 0, 0, (2 * far * near) / (near - far), 0]);
    return { eye, lens, right, above, distance };
  }

  // ---------------------------------------------------------------- drawing
  const MANY = 3; // joints whose loads are all shown at the beginning
  let now = time[scene.first], playing = scene.playing && last > 0;
  const shown = { ...(loads.length ? { force: true, moment: true, actuation: true } : {}),
    ...(external.length ? { external: true } : {}), numbers: scene.labels, names: scene.labels };
  function draw(form, matrix, colour, alpha = 1, flatness = 0) {
    gl.bindBuffer(gl.ARRAY_BUFFER, form.buffer);
    gl.vertexAttribPointer(atPlace, 3, gl.FLOAT, false, 24, 0);
    gl.vertexAttribPointer(normalPlace, 3, gl.FLOAT, false, 24, 12);
    const texture = form.uv && images[form.texture];
    if (texture) {
      gl.enableVertexAttribArray(uvPlace);
      gl.bindBuffer(gl.ARRAY_BUFFER, form.uv);
      gl.vertexAttribPointer(uvPlace, 2, gl.FLOAT, false, 0, 0);
    } else gl.disableVertexAttribArray(uvPlace);
    gl.bindTexture(gl.TEXTURE_2D, texture || plain);
    gl.uniformMatrix4fv(place.place, false, matrix);
    gl.uniform4f(place.colour, ...(texture ? WHITE : colour), alpha);
    gl.uniform1f(place.flatness, flatness);
    gl.drawArrays(form.kind, 0, form.count);
  }
  function along(form, start, way, radius, length) { // a shape along z, put along a unit vector
    const x = square(way), y = cross(way, x);
    return [form, framed(scaled(x, radius), scaled(y, radius), scaled(way, length), start)];
  }
  const { longest, shortest, arc } = scene.scale;
  const thick = 0.02 * longest, head = 0.16 * longest;
  function arrow(pieces, start, vector, colour, heads, dashed) {
    const length = size(vector);
    if (!(length >= shortest)) return null;
    const way = unit(vector), tip = Math.min(head, length / 2), radius = thick * Math.min(1, length / head);
    let end = length;
    for (let k = 0; k < heads; k++, end -= 0.55 * tip)
      pieces.push([...along(cone, add(start, way, end), way, 0.36 * tip, tip), colour]);
    end = Math.max(end + 0.55 * tip - tip, 0);
    const dash = longest / 28;
    if (!dashed) pieces.push([...along(rod, start, way, radius, end), colour]);
    else for (let z = 0; z < end; z += 2 * dash)
      pieces.push([...along(rod, add(start, way, z), way, radius, Math.min(dash, end - z)), colour]);
    return add(start, vector);
  }
  function turn(pieces, start, axis, share, colour) { // an arc about an axis, with a head
    const angle = arc * Math.min(Math.abs(share), 1), radius = 0.28 * longest;
    if (!(angle >= arc / 32)) return null;
    const z = scaled(axis, Math.sign(share)), x = square(z), y = cross(z, x);
    const at = (a) => add(add(start, x, radius * Math.cos(a)), y, radius * Math.sin(a));
    const steps = Math.max(2, Math.ceil(angle / 0.22));
    for (let k = 0; k < steps; k++) {
      const a = at((angle * k) / steps), way = add(at((angle * (k + 1)) / steps), a, -1);
      pieces.push([...along(rod, a, unit(way), 0.8 * thick, 1.04 * size(way)), colour]);
    }
    const ahead = add(scaled(x, -Math.sin(angle)), y, Math.cos(angle));
    pieces.push([...along(cone, add(at(angle), ahead, 0.6 * head), ahead, 0.22 * head, 0.6 * head), colour]);
    return at(angle);
  }
  function moment() { // which instants are around the time, and how far it is between them
    let k = 0, end = last;
    while (end - k > 1) { const m = (k + end) >> 1; if (time[m] <= now) k = m; else end = m; }
    const next = Math.min(k + 1, last), step = time[next] - time[k];
    return { k, next, part: step > 0 ? Math.min(Math.max((now - time[k]) / step, 0), 1) : 0 };
  }
  function mixed(values, width, index, { k, next, part }) {
    const out = [];
    for (let i = 0; i < width; i++) {
      const a = values[k * (values.length / (last + 1)) + index + i];
      out.push(a + part * (values[next * (values.length / (last + 1)) + index + i] - a));
    }
    return out;
  }
  function largest() { // the joint with the largest force
    return loads.reduce((best, load) => {
      const top = load.force ? peak(load.force) : 0;
      return top > best.top ? { top, joint: load.joint } : best;
    }, { top: -1, joint: "" }).joint;
  }
  function peak(vectors) {
    let top = 0;
    for (let k = 0; k < vectors.length; k += 3)
      top = Math.max(top, Math.hypot(vectors[k], vectors[k + 1], vectors[k + 2]));
    return top;
  }
  function slices(one, along, carrier, when) { // of a link that bends: each moves as its cross section
    const number = along.length / (last + 1), eta = mixed(along, number, 0, when);
    const weighed = (rows, k) => [0, 1, 2].map((i) =>
      eta.reduce((sum, amplitude, m) => sum + rows[(3 * k + i) * number + m] * amplitude, 0));
    const base = multiplied(carrier, one.frame), out = [];
    for (let k = 0; 3 * k < one.points.length; k++) {
      const [x, y, z] = weighed(one.rotation, k), moved = weighed(one.displacement, k);
      if (one.shortening)
        for (let m = 0; m < number; m++)
          for (let n = 0; n < number; n++)
            for (let i = 0; i < 3; i++)
              moved[i] += 0.5 * one.shortening[((k * number + m) * number + n) * 3 + i] * eta[m] * eta[n];
      const d = 1 / (1 + (x * x + y * y + z * z) / 4), h = d / 2;
      const axes = [[1 - h * (y * y + z * z), d * z + h * x * y, h * x * z - d * y],
        [h * x * y - d * z, 1 - h * (x * x + z * z), d * x + h * y * z],
        [d * y + h * x * z, h * y * z - d * x, 1 - h * (x * x + y * y)]];
      const point = one.points.slice(3 * k, 3 * k + 3);
      const turned = [0, 1, 2].map((i) => dot(axes.map((axis) => axis[i]), point));
      out.push(multiplied(base, framed(...axes, add(add(point, moved), turned, -1))));
    }
    return out;
  }
  const everyJoint = loads.map((load) => load.joint);
  const chosen = new Set(loads.length > MANY ? [largest()] : everyJoint);
  const labels = [], NAME = [0.45, 0.48, 0.52];
  function render() {
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    const width = Math.max(1, Math.round(stage.clientWidth * ratio));
    const height = Math.max(1, Math.round(stage.clientHeight * ratio));
    if (canvas.width !== width || canvas.height !== height) { canvas.width = width; canvas.height = height; }
    gl.viewport(0, 0, width, height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.enable(gl.DEPTH_TEST);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    const seen = looking(), when = moment();
    gl.uniformMatrix4fv(place.eye, false, seen.eye);
    gl.uniformMatrix4fv(place.lens, false, seen.lens);
    if (floor) draw(floor, framed([1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]), [0.5, 0.55, 0.6], 0.45, 1);
    const bodies = [];
    for (let b = 0; b < bodyCount; b++) {
      const pose = mixed(poses, 7, 7 * b, when), turned = pose.slice(3), length = Math.hypot(...turned);
      bodies.push(posed(pose.slice(0, 3), turned.map((x) => x / length)));
    }
    bent.forEach((one, k) => bodies.push(...slices(one, amplitudes[k], bodies[one.body], when)));
    for (const part of scene.parts) draw(meshes[part.mesh], carried(bodies, part), part.colour);
    for (const pin of marked.joints ? marks.joints : [])
      draw(meshes[pin.mesh], carried(bodies, pin), pinColour(pin.colour));
    const rods = [];
    for (const spring of springs) {
      const ends = mixed(spring.ends, 6, 0, when), start = ends.slice(0, 3);
      const way = add(ends.slice(3), start, -1), length = size(way);
      if (!(length > 0)) continue;
      const z = unit(way), x = square(z), corners = [start];
      if (spring.coil)
        for (let k = 0; k <= 10; k++)
          corners.push(add(add(start, way, 0.15 + 0.07 * k), x, k % 10 ? (k % 2 ? 5 : -5) * spring.radius : 0));
      corners.push(ends.slice(3));
      for (let k = 0; k + 1 < corners.length; k++) {
        const step = add(corners[k + 1], corners[k], -1);
        rods.push([...along(rod, corners[k], unit(step), spring.radius, size(step)), spring.colour]);
      }
    }
    for (const [form, matrix, colour] of rods) draw(form, matrix, colour);
    const pieces = marksOver(bodies, when), texts = [], { colours } = scene;
    for (const load of loads.filter((one) => chosen.has(one.joint))) {
      const at = mixed(load.point, 3, 0, when), before = pieces.length;
      for (const [name, colour, heads, unitName, dashed] of [
        ["force", colours.force, 1, "N", false], ["open_force", colours.undetermined, 1, "N ?", true],
        ["moment", colours.moment, 2, "N m", false], ["open_moment", colours.undetermined, 2, "N m ?", true]]) {
        const kind = name.replace("open_", "");
        if (!load[name] || !shown[kind]) continue;
        const vector = mixed(load[name], 3, 0, when);
        const tip = arrow(pieces, at, scaled(vector, scale[kind]), colour, heads, dashed);
        if (tip) texts.push([tip, readable(size(vector), unitName), colour]);
      }
      if (load.axis && shown.actuation) {
        const axis = unit(mixed(load.axis, 3, 0, when)), [value] = mixed(load.actuation, 1, 0, when);
        const tip = load.turns ? turn(pieces, at, axis, scale.actuation * value, colours.actuation)
          : arrow(pieces, at, scaled(axis, scale.force * value), colours.actuation, 1, false);
        if (tip) texts.push([tip, readable(value, load.turns ? "N m" : "N"), colours.actuation]);
      }
      if (shown.names && pieces.length > before) texts.push([at, load.joint, NAME, true]);
    }
    for (const one of shown.external ? external : []) {
      const at = mixed(one.point, 3, 0, when), prefix = shown.names ? `${one.link}: ` : "";
      for (const [kind, heads, unitName] of [["force", 1, "N"], ["moment", 2, "N m"]]) {
        const vector = mixed(one[kind], 3, 0, when);
        const tip = arrow(pieces, at, scaled(vector, scale[kind]), colours.external, heads, false);
        if (tip) texts.push([tip, prefix + readable(size(vector), unitName), colours.external]);
      }
    }
    gl.disable(gl.DEPTH_TEST); // arrows inside of the machine are seen through it, faintly
    for (const [form, matrix, colour] of pieces) draw(form, matrix, colour, 0.25, 1);
    gl.enable(gl.DEPTH_TEST);
    for (const [form, matrix, colour] of pieces) draw(form, matrix, colour);
    write(texts, multiplied(seen.lens, seen.eye));
    clock.textContent = `${now.toFixed(digits)} s`;
    slider.value = now;
  }
  function write(texts, matrix) {
    const wanted = texts.filter(([, , , name]) => name || shown.numbers), taken = [];
    while (labels.length < wanted.length) labels.push(element("span", stage, { className: "label" }));
    labels.forEach((label, k) => {
      label.hidden = k >= wanted.length;
      if (label.hidden) return;
      const [p, text, colour] = wanted[k];
      const [x, y, , w] = [0, 1, 2, 3].map((r) =>
        matrix[r] * p[0] + matrix[4 + r] * p[1] + matrix[8 + r] * p[2] + matrix[12 + r]);
      label.textContent = text;
      label.style.color = ink(colour);
      const right = ((x / w + 1) / 2) * stage.clientWidth, down = ((1 - y / w) / 2) * stage.clientHeight;
      const width = label.offsetWidth, height = label.offsetHeight;
      const left = Math.max(2, Math.min(right + 6, stage.clientWidth - width - 2));
      let top = Math.max(0, Math.min(down - 8, stage.clientHeight - height));
      for (let again = taken.length; again > 0; again--) // below the others that are there
        for (const one of taken)
          if (left < one.right && one.left < left + width && Math.abs(top - one.top) < height)
            top = one.top + height;
      taken.push({ left, right: left + width, top });
      label.style.transform = `translate(${left}px, ${top}px)`;
    });
  }
  const floor = scene.ground ? tiles() : null;
  function tiles() {
    const edge = round(0.3 * reach), depth = Math.min(dot(low, up), dot(high, up)) - 0.002 * reach;
    const a = dot(centre, first), b = dot(centre, second), far = 8 * edge, numbers = [];
    const begin = (x) => edge * Math.round(x / edge);
    const point = (x, y) => numbers.push(...add(add(scaled(first, x), second, y), up, depth), ...up);
    for (let k = -8; k <= 8; k++) {
      const x = begin(a) + k * edge, y = begin(b) + k * edge;
      point(x, begin(b) - far); point(x, begin(b) + far);
      point(begin(a) - far, y); point(begin(a) + far, y);
    }
    return shape(numbers, gl.LINES);
  }

