// Uploads a program: computes its digest, announces it to the node, sends the file to the address in the answer, confirms the
// upload, and then submits the form without the file.
import {Sha256} from './sha256.js';

const machines = {3: '386', 21: 'ppc64le', 22: 's390x', 40: 'arm', 62: 'amd64', 183: 'arm64', 243: 'riscv64', 258: 'loong64'};

// machineOf reads the head of an ELF file.
async function machineOf(file) {
  const head = new DataView(await file.slice(0, 20).arrayBuffer());
  if (head.byteLength < 20 || head.getUint32(0) !== 0x7f454c46) return '';
  return machines[head.getUint16(18, head.getUint8(5) === 1)] || '';
}

async function digestOf(file, progress) {
  const sum = new Sha256(), reader = file.stream().getReader();
  for (let done = 0; ;) {
    const piece = await reader.read();
    if (piece.done) return sum.hex();
    sum.add(piece.value);
    progress(done += piece.value.length);
  }
}

async function ask(url, fields) {
  const answer = await fetch(url, {method: 'POST', body: new URLSearchParams(fields)});
  const said = await answer.json().catch(() => null);
  if (!answer.ok) throw new Error(said ? [said.Message, ...(said.Faults || []).map(f => `${f.field} ${f.message}.`), said.Hint].filter(Boolean).join(' ') : `The node answered ${answer.status}. Reload the page.`);
  return said;
}

function send(link, file, elsewhere, progress) {
  const to = new URL(link.url, location.href).origin, own = to === location.origin;
  if (!own && to !== elsewhere) throw new Error(`This page may not send anything to ${to}, where programs lie here. Use: belfry program push FILE`);
  return new Promise((done, failed) => {
    const r = new XMLHttpRequest(); // fetch reports no progress of an upload
    r.open(link.method, link.url);
    for (const [name, value] of Object.entries(link.headers || {})) if (!/^(content-length|host)$/i.test(name)) r.setRequestHeader(name, value);
    r.upload.onprogress = e => progress(e.loaded);
    r.onload = () => r.status < 300 || r.status === 412 ? done() : failed(new Error(`The upload was refused (${r.status}). ${r.responseText.slice(0, 200)}`)); // 412: the file was uploaded before
    r.onerror = () => failed(new Error(own ? 'The upload broke off. Try again: what is there already is not sent twice.' :
      `The upload broke off, or ${to} lets no page of ${location.origin} send to it: the CORS rules of the bucket have to allow PUT with any header from there. Without them: belfry program push FILE`));
    r.send(file);
  });
}

export function upload(form) {
  const input = form.querySelector('input[type=file]'), zone = form.querySelector('.drop');
  const says = form.querySelector('#upload-says'), bar = form.querySelector('#upload-bar');
  form.enctype = 'application/x-www-form-urlencoded';
  input.removeAttribute('name'); // without scripts the file is sent with the form
  const named = name => form.elements.namedItem(name);
  const say = (text, bad) => { says.textContent = text; says.className = bad ? 'fault' : ''; };

  for (const kind of ['dragover', 'dragenter']) zone.addEventListener(kind, e => { e.preventDefault(); zone.classList.add('over'); });
  for (const kind of ['dragleave', 'drop']) zone.addEventListener(kind, () => zone.classList.remove('over'));
  zone.addEventListener('drop', e => {
    e.preventDefault();
    if (e.dataTransfer.files.length !== 1) { say('Drop one file.', true); return; }
    input.files = e.dataTransfer.files;
    input.dispatchEvent(new Event('change'));
  });

  input.addEventListener('change', async () => {
    named('program.sha256').value = named('program.size').value = '';
    const file = input.files[0];
    if (!file) return;
    const machine = await machineOf(file).catch(() => '');
    if (machine) named('program.arch').value = machine;
    const name = named('name');
    if (name && !name.value) name.value = file.name.replace(/[^a-zA-Z0-9._-]+/g, '-').replace(/^[._-]+/, '').slice(0, 128);
    say(`${file.name}, ${file.size.toLocaleString('en')} bytes${machine ? `, for ${machine}` : '. It is not a program for Linux that is known here: it may not start'}`, !machine);
  });

  form.addEventListener('submit', async e => {
    if (named('program.sha256').value) return; // uploaded: submit the form
    e.preventDefault();
    const file = input.files[0], button = form.querySelector('button.main');
    if (!file) { say('Choose a file first.', true); input.focus(); return; }
    if (file.size === 0 || file.size > Number(form.dataset.most)) { say(file.size ? 'It is over the limit of 1 GiB.' : 'It is empty.', true); return; }
    const progress = part => { bar.value = part / file.size; };
    button.disabled = true;
    bar.hidden = false;
    try {
      say('Working out its digest …');
      const sha256 = await digestOf(file, progress);
      const {link} = await ask(form.dataset.announce, {sha256, size: file.size});
      if (link) {
        say('Sending it …');
        await send(link, file, form.dataset.elsewhere, progress);
      }
      say('Comparing what arrived …');
      await ask(form.dataset.confirm, {sha256});
      named('program.sha256').value = sha256;
      named('program.size').value = file.size;
      say('It is there. Saving …');
      form.requestSubmit();
    } catch (err) {
      say(err.message, true);
      button.disabled = false;
      bar.hidden = true;
    }
  });
  form.dataset.ready = 'yes'; // for tests: a submit before this point sends the file with the form
}
