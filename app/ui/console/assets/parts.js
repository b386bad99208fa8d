// The parts of this page as the server sent them last. A request names them by digest, the server answers with the difference,
// and this builds the new text from both.
const parts = new Map(); // by id: the digest and the text

const parse = text => new DOMParser().parseFromString(text, 'text/html');
const pieces = text => text.split('>').map((piece, i, all) => i < all.length - 1 ? `${piece}>` : piece);

// known returns the header of a request: each part with its digest.
export const known = () => [...parts].map(([id, {digest}]) => `${id}=${digest}`).join(' ');

// forget drops all texts, so that the next answer has all parts in full.
export const forget = () => parts.clear();

// partsOf returns a document with the new version of all parts, or null if none has changed. It throws if the answer is based
// on a text that is not here.
export function partsOf(text, always) {
  if (!text.startsWith('{')) { // a page as HTML, from a node of an older version: the kept texts no longer match the page
    forget();
    return parse(text);
  }
  const answer = JSON.parse(text);
  take(answer);
  return always || Object.keys(answer.parts).length ? parse([...parts.values()].map(part => part.text).join('')) : null;
}

function take(answer) {
  const stay = new Set([...answer.same, ...Object.keys(answer.parts)]);
  for (const id of [...parts.keys()]) if (!stay.has(id)) parts.delete(id);
  for (const [id, now] of Object.entries(answer.parts)) {
    let text = now.html;
    if (now.from) {
      const was = parts.get(id);
      if (was?.digest !== now.from) throw new Error(`part ${id} is not what the answer is made from`);
      const old = pieces(was.text);
      text = now.course.map(step => typeof step === 'string' ? step : old.slice(step[0], step[0] + step[1]).join('')).join('');
    }
    parts.set(id, {digest: now.digest, text});
  }
}
