// What the server has sent of the parts of this page. It answers with what has changed
// since, and this puts the whole together again.
const parts = new Map(); // by id: the digest and the text that were sent last

const parse = text => new DOMParser().parseFromString(text, 'text/html');
const pieces = text => text.split('>').map((piece, i, all) => i < all.length - 1 ? `${piece}>` : piece);

// known names what is here, for the request.
export const known = () => [...parts].map(([id, {digest}]) => `${id}=${digest}`).join(' ');

// forget makes the next answer bring all parts whole.
export const forget = () => parts.clear();

// partsOf takes an answer and gives a document with what all parts are to be like, or null
// if all of them are as before. It fails if the answer does not fit what is here.
export function partsOf(text, always) {
  if (!text.startsWith('{')) { // from a node of the version before: what is kept here is not what the page shows then
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
