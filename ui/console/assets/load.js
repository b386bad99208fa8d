// Parts that take longer to make are read after the page: an element with
// data-load gets the element #part of that address.
export async function load(box) {
  try {
    const answer = await fetch(box.dataset.load, {headers: {'X-Belfry-Live': '1'}});
    if (!answer.ok || answer.redirected) return; // its link stays
    const part = new DOMParser().parseFromString(await answer.text(), 'text/html').getElementById('part');
    if (part) box.replaceChildren(...part.childNodes);
  } catch { /* its link stays */ } finally {
    delete box.dataset.load;
  }
}
