// SHA-256 of what comes in pieces. The one of browsers takes a file as a whole,
// and is not there for pages that come without TLS.
const K = new Uint32Array(64);
const start = new Uint32Array(8);
{
  const frac = x => (x - Math.floor(x)) * 2 ** 32;
  let n = 0;
  for (let c = 2; n < 64; c++) {
    let prime = true;
    for (let d = 2; d * d <= c; d++) if (c % d === 0) { prime = false; break; }
    if (!prime) continue;
    if (n < 8) start[n] = frac(Math.sqrt(c));
    K[n++] = frac(Math.cbrt(c));
  }
}

export class Sha256 {
  #h = start.slice();
  #w = new Uint32Array(64);
  #rest = new Uint8Array(64);
  #held = 0;
  #size = 0;

  add(bytes) {
    this.#size += bytes.length;
    let at = 0;
    if (this.#held > 0) {
      at = Math.min(64 - this.#held, bytes.length);
      this.#rest.set(bytes.subarray(0, at), this.#held);
      this.#held += at;
      if (this.#held < 64) return;
      this.#block(this.#rest, 0);
      this.#held = 0;
    }
    for (; at + 64 <= bytes.length; at += 64) this.#block(bytes, at);
    this.#rest.set(bytes.subarray(at), 0);
    this.#held = bytes.length - at;
  }

  // hex ends it.
  hex() {
    const size = this.#size, tail = new Uint8Array((this.#held < 56 ? 64 : 128) - this.#held), view = new DataView(tail.buffer);
    tail[0] = 0x80;
    view.setUint32(tail.length - 8, Math.floor(size / 2 ** 29));
    view.setUint32(tail.length - 4, size * 8 % 2 ** 32);
    this.add(tail);
    return [...this.#h].map(v => v.toString(16).padStart(8, '0')).join('');
  }

  #block(p, at) {
    const w = this.#w, H = this.#h;
    for (let i = 0; i < 16; i++, at += 4) w[i] = p[at] << 24 | p[at + 1] << 16 | p[at + 2] << 8 | p[at + 3];
    for (let i = 16; i < 64; i++) {
      const x = w[i - 15], y = w[i - 2];
      w[i] = w[i - 16] + ((x >>> 7 | x << 25) ^ (x >>> 18 | x << 14) ^ x >>> 3) + w[i - 7] + ((y >>> 17 | y << 15) ^ (y >>> 19 | y << 13) ^ y >>> 10);
    }
    let [a, b, c, d, e, f, g, h] = H;
    for (let i = 0; i < 64; i++) {
      const t = h + ((e >>> 6 | e << 26) ^ (e >>> 11 | e << 21) ^ (e >>> 25 | e << 7)) + (e & f ^ ~e & g) + K[i] + w[i] | 0;
      const u = ((a >>> 2 | a << 30) ^ (a >>> 13 | a << 19) ^ (a >>> 22 | a << 10)) + (a & b ^ a & c ^ b & c) | 0;
      h = g; g = f; f = e; e = d + t | 0; d = c; c = b; b = a; a = t + u | 0;
    }
    H[0] += a; H[1] += b; H[2] += c; H[3] += d; H[4] += e; H[5] += f; H[6] += g; H[7] += h;
  }
}
